// The outputs: a bar per column, signed, written block by block.

function makeOutputsPanel(parent, layout, model, words) {
  const panel = layout.panels.outputs;
  const { low, high } = model.ranges.rows[model.output] || model.ranges.output;
  const scale = makeScale(low, high, panel.bottom, panel.top);
  makeHead(parent, layout, panel, {
    name: { text: words.say('player.outputs') },
    symbol: model.output,
    kind: 'o',
    notes: outputNotes(model),
  });
  makeAxis(parent, layout, scale, niceTicks(low, high, panel.height / 30));
  const bars = makeBarStates(parent, layout, scale, {
    rest: 'o-rest',
    now: 'o',
    testid: 'outputs',
  });
  const outputs = rowOf(model.record.output);
  return {
    set(view) {
      const { phase, start, stop, values } = view.step;
      const isNow = values[model.output] !== undefined || phase === 'store';
      return bars.set(outputs.subarray(0, view.outputStop), {
        now: isNow ? [start, stop] : null,
        were: null,
      });
    },
    move: bars.move,
  };
}

/** The values that the blocks of a record hold, as one row. */
function rowOf(record) {
  return Float64Array.from(record.flatMap((born) => (born ? born.value : [])));
}

const NOTE_CHARACTERS = 9; // of type that the gutter has room for, beside the axis

/** How an output comes about, in symbols: what its stanza says, over two lines where one is short. */
function outputNotes(model) {
  const isTarget = ({ target }) => target === model.output;
  const stanza = model.stanzas.find(({ lines }) => lines.some(isTarget));
  if (stanza.phase === 'normalize') return ['p \u00f7 l']; // by whatever p was measured from
  const { expression } = stanza.lines.find(isTarget);
  const plain = plainText(symbolParts(model, expression))
    .replaceAll(' / ', ' \u00f7 ')
    .replaceAll(' \u00b7 ', '\u00b7');
  if (plain.length <= NOTE_CHARACTERS) return [plain];
  const at = plain.lastIndexOf(' ', NOTE_CHARACTERS);
  return [plain.slice(0, at), plain.slice(at + 1)];
}
