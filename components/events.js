// Events on their way to Python. While Python is busy, Streamlit keeps only the last message of a component, so each
// message repeats all events that Python has not acknowledged (mounting.py), and nothing gets lost.

const PAUSE = 60; // ms between two messages of a drag

// Counts on over remounts and reloads of the page: a session must never see a number twice.
let last = Date.now();

/** A queue; `trigger` is Streamlit's setTriggerValue, renewed with every render. */
lab.events = () => {
  let waiting = []; // sent or not, not yet acknowledged
  let sentAt = 0;
  let timer = 0;
  const flush = () => {
    clearTimeout(timer);
    timer = 0;
    sentAt = performance.now();
    queue.trigger?.('event', waiting);
  };
  const queue = {
    trigger: null,
    /** Events whose effect the server's data do not show yet, oldest first. */
    get waiting() { return waiting; },
    acknowledge(sequence) { waiting = waiting.filter(event => event.sequence > sequence); },
    /** Sends an event; `drag: true` marks one that the next may replace, sent at most every 60 ms. */
    send(event) {
      const previous = waiting.at(-1);
      last += 1;
      if (previous && replaces(event, previous)) waiting = waiting.slice(0, -1);
      waiting = [...waiting, { ...event, sequence: last }].slice(-32);
      if (!event.drag) flush();
      else if (!timer) timer = setTimeout(flush, Math.max(0, sentAt + PAUSE - performance.now()));
    },
  };
  return queue;
};

/** Whether `event` says all that `previous` said. */
function replaces(event, previous) {
  if (event.type !== previous.type) return false;
  if (event.type === 'select' || event.type === 'view') return true;
  return previous.drag === true && event.drag !== undefined
    && ['scope', 'layer', 'head'].every(part => event[part] === previous[part]);
}
