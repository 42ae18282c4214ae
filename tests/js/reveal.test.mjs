// Tests of components/runtime/reveal.js on a page that is drawn element by element.

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';

globalThis.location = { pathname: '/' };
const { revealElement } = await import('../../components/runtime/reveal.js');

mock.timers.enable({ apis: ['setTimeout'] });

let heading, details, group, onMutation, onGrowth, onUser, scrolls;

/** Returns closed details; a click on their summary opens or closes them. */
function createDetails() {
  const made = { open: false, focused: 0 };
  const summary = { click: () => (made.open = !made.open), focus: () => made.focused++ };
  made.querySelector = () => summary;
  return made;
}

/** Draws the heading, and the details unless there are none yet, inside `group` if there is one. */
function draw(newDetails = null) {
  details = newDetails;
  const box = {
    classList: ['st-key-claim'],
    querySelector: () => details,
    parentElement: { closest: () => group },
  };
  heading = { closest: () => box, scrollIntoView: () => scrolls++ };
  onMutation?.();
}

beforeEach(() => {
  mock.timers.tick(60_000); // ends the wait of the test before
  [heading, details, group, onMutation, onGrowth, onUser, scrolls] = [null, null, null, null, null, null, 0];
  globalThis.window = {
    addEventListener: (type, act, { signal }) => {
      if (type === 'wheel') onUser = () => signal.aborted || act();
    },
  };
  globalThis.ResizeObserver = class {
    constructor(act) {
      this.act = act;
    }
    observe() {
      onGrowth = this.act;
    }
    disconnect() {
      onGrowth = null;
    }
  };
  globalThis.document = { body: {}, getElementById: () => heading };
  globalThis.MutationObserver = class {
    constructor(act) {
      onMutation = act;
    }
    observe() {}
    disconnect() {
      onMutation = null;
    }
  };
});

test('details that are on the page are opened at once, and not again after a reader has closed them', () => {
  draw(createDetails());
  revealElement('a');
  assert.deepEqual([details.open, details.focused, scrolls], [true, 1, 1]);
  details.open = false;
  onMutation();
  assert.equal(details.open, false);
  mock.timers.tick(1000);
  assert.equal(onMutation, null);
});

test('details that are drawn after their heading are opened', () => {
  revealElement('a');
  draw();
  assert.equal(scrolls, 0);
  draw(createDetails());
  assert.deepEqual([details.open, details.focused, scrolls], [true, 1, 1]);
});

test('details that replace the opened ones soon afterwards are opened, later ones are not', () => {
  draw(createDetails());
  revealElement('a');
  draw(createDetails());
  assert.deepEqual([details.open, details.focused], [true, 1]);
  mock.timers.tick(1000);
  draw(createDetails());
  assert.equal(details.open, false);
});

test('an element that does not appear within 15 s, or whose wait was ended, is not shown', () => {
  for (const end of [() => mock.timers.tick(15_000), waiting => waiting.abort()]) {
    const waiting = revealElement('a');
    end(waiting);
    draw(createDetails());
    assert.equal(details.open, false);
    heading = null;
  }
});

test('a closed group around the details is opened first', () => {
  group = createDetails();
  draw(createDetails());
  revealElement('a');
  assert.deepEqual([group.open, details.open], [true, false]); // details in a closed group cannot have the focus
  onMutation();
  assert.deepEqual([group.open, details.open, details.focused, scrolls], [true, true, 1, 1]);
});

test('the page follows a group that grows, until the user scrolls', () => {
  group = createDetails();
  draw(createDetails());
  revealElement('a');
  onUser(); // nothing has been shown: the wait goes on
  onMutation();
  onGrowth();
  assert.equal(scrolls, 2);
  onUser();
  assert.deepEqual([onGrowth, onMutation], [null, null]);
});
