// Connects the button "Find a tool" of the header with the list of tools, which is part of another component.

let openTools = null; // opens the list; null while no component of the page has one
let isWanted = false; // true if the list was requested on a page without tools

/** Opens the list of tools, now or when a component has one; returns whether the page has one now. */
export function findTool() {
  isWanted = !openTools;
  openTools?.();
  return !isWanted;
}

/** Sets the function that opens the list of tools; null when its component leaves the page. */
export function offerTools(open) {
  openTools = open;
  if (!open || !isWanted) return;
  isWanted = false;
  open();
}
