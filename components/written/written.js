// What a model of two texts writes, as trained and under the plan; words that differ are marked.

function create({ root }) {
  const [trained, planned] = ['trained', 'planned'].map(className =>
    lab.make('p', { className, attributes: { role: 'status' } }),
  );
  root.append(trained, planned);
  return { trained, planned, numbers: planned };
}

function update({ trained, planned }, { before, after }) {
  const changed = after !== null;
  planned.dataset.room = before;
  const [old, now] = changed ? lab.wordChanges(before, after) : [[{ text: before, changed: false }], []];
  show(trained, lab._('As trained'), 'del', old);
  show(planned, changed ? lab._('With your changes') : '', 'ins', now);
}

/** A live region: written anew only if it says something else. */
function show(line, name, tag, pieces) {
  const said = JSON.stringify([name, pieces]);
  if (line.dataset.said === said) return;
  line.dataset.said = said;
  line.replaceChildren(
    lab.make('span', { className: 'name', textContent: name }),
    ' ',
    lab.make(
      'bdi',
      {},
      ...pieces.map(({ text, changed }) =>
        changed ? lab.make(tag, { textContent: lab.visible(text) }) : lab.visible(text),
      ),
    ),
  );
}

lab.written = lab.component({ create, update, parts: ['numbers'] });
