// The drawings of the tools, by name. Each module of this folder adds its own (components/library.py).

const drawings = {};

/** Adds the drawing of a tool and returns it; with `isLocal` it is drawn before Python answers. */
export function defineTool(name, draw, isLocal = false) {
  drawings[name] = { draw, isLocal };
  return drawings[name];
}

/** Returns {draw, isLocal} of a tool; undefined without a drawing. */
export const drawingOf = name => drawings[name];
