// What the components listen for on the page around them: Streamlit's own text box, links to other pages, keys.

const BOX = '.st-key-text'; // the class that Streamlit gives the widget with the key `text`
const SETTLE = [300, 1500]; // ms after a key or an answer when the box is looked at; Streamlit fills it in its own time
const LONGEST = 20_000; // ms; a text that nobody answered by then is not waited for

let box = null; // the input that was typed in
let patience = 0;
let looks = [];
lab.typed = lab.typing();

/** The fingerprint of what stands in the box that was typed in; null if it has gone. */
lab.boxText = () => (box?.isConnected ? lab.fingerprint(box.value) : null);

/** Looks at the box in a while: Python may have put another text into it, what was typed may be gone, or the box. */
function lookLater() {
  for (const look of looks) clearTimeout(look);
  looks = SETTLE.map(delay =>
    setTimeout(() => {
      if (!lab.typed.open) return;
      lab.typed.answered(lab.typed.last, lab.boxText());
      lab.mark();
    }, delay),
  );
}

/** An answer about `text` came. */
lab.textAnswered = text => {
  if (text === null) return;
  lab.typed.answered(text, lab.boxText());
  if (lab.typed.open) lookLater();
};

function onInput(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement) || !target.closest(BOX)) return;
  box = target;
  lab.typed.typed(lab.fingerprint(box.value));
  lookLater();
  clearTimeout(patience);
  patience = setTimeout(() => {
    lab.typed.forget();
    lab.mark();
  }, LONGEST);
  lab.mark();
}

// What is on its way must be there before the page that it belongs to is left, and before one of Streamlit's buttons
// changes what it is about. Of our own components only their host is seen here: they send in order by themselves.
const onClick = event => {
  const isLink = event.composedPath().some(element => element instanceof HTMLAnchorElement);
  if (isLink || event.target.closest?.('button')) lab.flush();
};

/** Begins to listen; a page that gets the library again ends what the one before it heard. */
lab.listen = () => {
  // Streamlit lets the tab key stop at all of the page; the link that skips to it still can.
  document.querySelector('[data-testid="stMain"]')?.setAttribute('tabindex', '-1');
  globalThis.attentionLabListening?.abort();
  const { signal } = (globalThis.attentionLabListening = new AbortController());
  document.addEventListener('input', onInput, { signal, capture: true });
  document.addEventListener('click', onClick, { signal, capture: true });
  window.addEventListener('keydown', event => lab.headKey(event), { signal, capture: true });
};
lab.listen();
