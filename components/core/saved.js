// The states that a visitor has saved under a name, and the citation of a state. The caller reads and writes the
// storage.

const MOST = 100; // largest number of saved states; the oldest state is dropped
const LONGEST = 80; // largest number of characters of a name

/** Parses the saved states, [{name, query}], from a stored string; invalid entries are ignored. */
export function readSaved(text) {
  try {
    const parsed = JSON.parse(text ?? '[]');
    return (Array.isArray(parsed) ? parsed : []).flatMap(each =>
      typeof each?.name === 'string' && typeof each.query === 'string' ? [{ name: each.name, query: each.query }] : [],
    );
  } catch {
    return [];
  }
}

/** Returns the list with a new state at the end; an old state with the same name is removed. */
export function withSaved(saved, name, query) {
  const clean = name.trim().slice(0, LONGEST);
  return clean ? [...saved.filter(each => each.name !== clean), { name: clean, query }].slice(-MOST) : saved;
}

const INDENT = 2;

/** Returns the content of a file with all saved states, each with its link. */
export function exportedStates(saved, base) {
  const states = saved.map(({ name, query }) => ({ name, link: base + query }));
  return [JSON.stringify(states, null, INDENT), ''].join('\n');
}

/** Returns a BibTeX entry with the link to a state; characters that are special in BibTeX are encoded. */
export const citedState = (entry, link) => entry.replace('LINK', link.replace(/[{}\\]/g, encodeURIComponent));
