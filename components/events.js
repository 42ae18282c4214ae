// Events on their way to Python. While Python is busy, Streamlit keeps only the last message of a component, so each
// message repeats all events that Python has not acknowledged (mounting.py), and nothing gets lost.

const PAUSE = 60; // ms between two messages of a drag
const PATIENCE = 600; // ms without an answer after which the next message goes out all the same

// Counts on over remounts and reloads of the page: a session must never see a number twice.
let last = Date.now();

/** A queue; `trigger` is Streamlit's setTriggerValue, renewed with every render. */
lab.events = () => {
  let waiting = []; // sent or not, not yet acknowledged
  let sent = 0; // sequence number of the last event that was sent
  let answered = 0; // and of the last one that was acknowledged
  let sentAt = 0;
  let timer = 0;
  const flush = () => {
    clearTimeout(timer);
    if (!waiting.length) return;
    sentAt = performance.now();
    sent = waiting.at(-1).sequence;
    queue.trigger?.('event', waiting);
  };
  // One message is under way at a time: a key held down asks Python for no more than it can answer.
  const schedule = pause => {
    clearTimeout(timer);
    const wait = sent > answered ? PATIENCE : pause;
    const rest = sentAt + wait - performance.now();
    if (wait === 0 || rest <= 0) flush();
    else timer = setTimeout(flush, rest);
  };
  const queue = {
    trigger: null,
    /** Events whose effect the server's data do not show yet, oldest first. */
    get waiting() {
      return waiting;
    },
    acknowledge(sequence) {
      answered = Math.max(answered, sequence);
      waiting = waiting.filter(event => event.sequence > sequence);
      if (waiting.length && waiting.at(-1).sequence > sent) schedule(waiting.at(-1).drag ? PAUSE : 0);
    },
    /** Sends an event; `drag: true` marks one that the next may replace, sent at most every 60 ms. */
    send(event) {
      const previous = waiting.at(-1);
      last += 1;
      if (previous && replaces(event, previous)) waiting = waiting.slice(0, -1);
      waiting = [...waiting, { ...event, sequence: last }].slice(-32);
      schedule(event.drag ? PAUSE : 0);
    },
  };
  return queue;
};

/** Whether `event` says all that `previous` said. */
function replaces(event, previous) {
  if (event.type !== previous.type) return false;
  if (['select', 'view', 'prediction'].includes(event.type)) return true;
  return (
    previous.drag === true &&
    event.drag !== undefined &&
    ['scope', 'layer', 'head'].every(part => event[part] === previous[part])
  );
}
