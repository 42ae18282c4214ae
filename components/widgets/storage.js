// Texts that the browser stores. A browser that forbids storage keeps them until the page is closed.

const kept = new Map();

/** Returns the text of a key; null if there is none. */
export function recall(key) {
  try {
    return kept.get(key) ?? localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a text. */
export function keep(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    kept.set(key, text);
  }
}
