// The page Training: settings, the Lab's picture of the model at one moment, the curve of its accuracy, and the table of
// recorded trainings.

import { selectionName } from '../core/stage/sentences.js';
import { pictureData, strongestHead } from '../core/stage/training.js';
import { currentView } from '../core/stage/view.js';
import { selectedRow } from '../core/stage/weights.js';
import { _ } from '../core/texts.js';
import { createAnswer } from '../lab/answer.js';
import { listenForKeys } from '../lab/keys.js';
import { createLegend } from '../lab/lead.js';
import { createLesson } from '../lab/lesson.js';
import { createPicture } from '../lab/picture.js';
import { showSentences } from '../lab/sentence.js';
import { createMatrix, matrixTitle } from '../matrix/matrix.js';
import { defineComponent } from '../runtime/component.js';
import { make, makeButton, onResize, setText } from '../widgets/dom.js';
import { createSettings } from './settings.js';
import { createTime } from './time.js';

const POLL = 120; // ms from an answer to the next question about a running training
const FRAME = 90; // ms of one moment while the training is played

function create(state) {
  const stage = createStage(state);
  const picture = createPicture(stage, { row: 'text', kinds: data => data.kinds, line: true });
  const answer = createAnswer(stage);
  const verdict = make('p.verdict.strong');
  answer.element.append(verdict);
  const legend = createLegend(stage);
  const time = createTime(state);
  const settings = createSettings(state, stage);
  const own = makeButton('button primary', _('Train one yourself'), () => state.send({ type: 'own' }));
  const title = make('h1.serif', { textContent: matrixTitle() });
  const table = createMatrix(state, [title], [own]);
  const lesson = createLesson(state);
  const lead = make('p.lead.serif');
  const caption = make('p.caption.serif', { 'aria-live': 'polite' });
  const notice = make('p.notice', { role: 'status' });
  const board = make('div.board', picture.element);
  const head = make('div.head', lead, caption, legend.element);
  const drawn = make('div.stage', head, answer.element, board, settings.heads, time.element);
  const columns = make('div.columns.grid', settings.element, drawn);
  const shown = make('div', make('div.training', columns), settings.phone);
  state.root.append(make('div.place.lab', lesson.element, notice, table.element, shown));
  const unfollow = onResize(state.root, () => state.data?.recipe && paint(state, true));
  const silence = listenForKeys(stage);
  return {
    ...{ stage, picture, answer, verdict, legend, time, settings, table, lesson, lead, caption, notice, board, shown },
    ...{ unfollow, silence, index: state.index ?? 0 },
  };
}

/** Creates the state that the parts of the Lab draw: data, view, and the actions that the parts call. */
function createStage(state) {
  const stage = {
    root: state.root,
    overlay: {},
    hover: { head: null, word: null },
    marks: { contributions: false, guesses: true },
    selection: null,
    looking: -1, // -1 for the word whose answer is shown
    data: null,
    view: null,
    waiting: () => [],
    send: event => {
      state.send(event);
      state.refresh();
    },
    refresh: () => paint(state),
    select(selection) {
      Object.assign(stage, { selection, draws: true });
      stage.hover.head = null;
      paint(state);
    },
    change: change => stage.send({ type: 'heads', ...stage.view.selection, ...change }),
    look(_row, index) {
      Object.assign(stage, { looking: index === stage.view.look ? -1 : index, draws: true });
      stage.hover.word = null;
      paint(state);
    },
    preview(hover) {
      const next = { ...stage.hover, ...hover };
      if (JSON.stringify(next) === JSON.stringify(stage.hover)) return;
      stage.hover = next;
      paint(state);
    },
    mark(marks) {
      Object.assign(stage.marks, marks);
      paint(state);
    },
    step: by => state.go(state.index + by),
  };
  /** Shows another moment. */
  state.go = index => {
    const last = state.data.moments.length - 1;
    state.index = Math.max(0, Math.min(last, index));
    if (state.index !== index) state.play(0);
    stage.fresh = true;
    paint(state);
  };
  /** Plays the moments forwards (1) or backwards (-1) from the shown one, from the other end if it is at an end; 0 ends. */
  state.play = way => {
    clearInterval(state.player);
    state.playing = way;
    if (!way) return;
    const last = state.data.moments.length - 1;
    if (way > 0 && state.index === last) state.index = 0;
    if (way < 0 && state.index === 0) state.index = last;
    state.player = setInterval(() => state.go(state.index + way), FRAME);
    state.go(state.index);
  };
  return stage;
}

function update(state, data) {
  const { lesson, notice, root, shown, stage, table } = state;
  root.classList.toggle('large-type', Boolean(data.large));
  root.classList.toggle('in-lesson', Boolean(data.lesson));
  lesson.show(data);
  setText(notice, data.problems.join(' '));
  notice.hidden = !notice.textContent;
  table.element.hidden = Boolean(data.recipe);
  shown.hidden = !data.recipe;
  clearTimeout(state.poll);
  const drawn = JSON.stringify([data.recipe?.text, data.state, data.moments?.length]);
  const opened = [data.recipe?.text, data.lesson?.place].join();
  const [isNew, isChanged] = [opened !== state.opened, drawn !== state.drawn];
  Object.assign(state, { opened, drawn });
  if (isChanged) state.play(0);
  if (!data.recipe) return table.show(data.table);
  if (data.active && !state.waiting().some(({ type }) => type === 'more'))
    state.poll = setTimeout(() => state.send({ type: 'more' }), POLL);
  if (isNew) stage.looking = -1;
  if (isChanged) state.index = data.moments.length - 1;
  if (isChanged && data.complete) stage.selection = strongestHead(data.moments[state.index]);
  Object.assign(stage, { fresh: state.fresh, dark: state.dark });
  paint(state, state.fresh);
  const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
  if (isChanged && data.state === 'recorded' && !isStill) state.play(1);
  return undefined;
}

/** Draws the shown moment; with `resized`, positions are measured again. */
function paint(state, resized = false) {
  const { answer, data, index, picture, stage, time, settings, verdict } = state;
  const { hover, marks, looking } = stage;
  stage.data = { ...pictureData(data, index), look: looking < 0 ? data.picture.at : looking, thing: 'head', marks };
  stage.data.selection = stage.selection ?? { kind: 'self', layer: data.recipe.layers - 1, head: 0, scope: 'head' };
  stage.view = currentView(stage.data, state.waiting());
  state.board.style.setProperty('--heads', data.recipe.heads);
  state.board.classList.toggle('tall', data.recipe.layers > 2);
  const selection = hover.head ?? stage.view.selection;
  const query = hover.word?.index ?? stage.view.look;
  const { row, used } = selectedRow(stage.data, stage.view.heads.self, selection, query);
  const places = { queries: 'text', keys: 'text', atRow: 'text', at: data.picture.at, wraps: false };
  const isBuilt = picture.build(stage.data);
  if (isBuilt || resized) picture.fit(stage.data, 'text');
  answer.show(stage.data, places);
  if (isBuilt || resized) picture.measure(stage.data, answer.line);
  picture.show(stage.data, stage.view, { selection, query, row, used, ...places }, stage.draws);
  state.legend.show(stage.data, stage.view, picture);
  const text = used ? _('The tint shows where {whose} looks.') : _('Nothing of {whose} is used.');
  const whose = selectionName(selection, stage.data.kinds, used);
  showSentences(state.lead, [
    { text: data.name, slots: {} },
    { text, slots: { whose } },
  ]);
  showSentences(state.caption, [stage.data.caption]);
  verdict.classList.toggle('notice', !stage.data.answer.rows[0].right);
  setText(verdict, stage.data.verdict);
  time.show(data, index, state.playing);
  settings.show(data);
  stage.draws = stage.fresh = false;
}

function destroy({ unfollow, silence, settings, lesson, poll, player }) {
  clearTimeout(poll);
  clearInterval(player);
  unfollow();
  silence();
  settings.close();
  lesson.close();
}

export const training = defineComponent({ create, update, destroy });
