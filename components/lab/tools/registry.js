// The drawings of the tools, by name. Each module of this folder adds its own (components/library/__init__.py).

const drawings = {};

/**
 * Adds the drawing of a tool and returns it.
 * @param {string} name the tool's name (app/content/tool.py)
 * @param {(place: HTMLElement, api: any) => void} draw fills an empty element; `api` is described in inspector.js
 * @param {boolean} [isLocal] true if the drawing needs no payload of its own, so that it is drawn before Python answers
 */
export function defineTool(name, draw, isLocal = false) {
  drawings[name] = { draw, isLocal };
  return drawings[name];
}

/** Returns {draw, isLocal} of a tool; undefined without a drawing. */
export const drawingOf = name => drawings[name];
