// Rows of signed bars: the operands as they are read, and the products that a sum is made of.

/** A strip for each operand: the current block lit, as the scores are. */
function makeOperandsPanel(parent, layout, model, words) {
  const strips = layout.panels.operands.strips.map((strip, i) =>
    makeOperand(parent, layout, model, words, { ...strip, isFirst: i === 0 && !model.scores }),
  );
  return {
    set(view) {
      for (const strip of strips) strip.set(view);
      return [];
    },
    move() {},
  };
}

function makeOperand(parent, layout, model, words, { name, isFirst, ...panel }) {
  const { low, high } = model.ranges.rows[name];
  const scale = makeScale(low, high, panel.bottom, panel.top);
  makeHead(parent, layout, panel, {
    name: { text: words.say(holdsKey(model, name)), isFirst },
    symbol: name,
    kind: 'ink-2',
  });
  makeAxis(parent, layout, scale, niceTicks(low, high, panel.height / 30));
  const values = model.rows[name];
  const bars = makeReadBars(parent, layout, values, scale, name);
  drawSpecials(parent, layout, values, { panel, zero: scale(0) });
  return bars;
}

/** What an operand is: the output of a forward pass, the gradient that meets it, or an input. */
function holdsKey({ draws }, name) {
  const isBackward = Object.values(draws).includes('softmax');
  if (isBackward && draws[name] !== 'softmax') return 'player.holds.gradient';
  return `player.holds.${draws[name]}`;
}

/** The products t, and on chip beside them the sum that they run into. */
function makeProductsPanel(parent, layout, model, words) {
  const panel = layout.panels.products;
  const { low, high } = model.ranges.terms;
  const scale = makeScale(low, high, panel.bottom, panel.top);
  const line = model.stanzas
    .flatMap(({ lines }) => lines)
    .find(({ target }) => target === 't');
  makeHead(parent, layout, panel, {
    name: { text: words.say('player.products') },
    symbol: 't',
    kind: 'ink',
    notes: [plainText(symbolParts(model, line.expression)).replaceAll(' \u00b7 ', '\u00b7')],
  });
  makeAxis(parent, layout, scale, niceTicks(low, high, panel.height / 30));
  const bars = makeBarStates(parent, layout, scale, {
    rest: 't-rest',
    now: 't',
    testid: 'products',
  });
  const terms = rowOf(model.record.t);
  return {
    set(view) {
      const { values, start, stop } = view.step;
      return bars.set(terms.subarray(0, stopOf(model, model.record.t, view.index)), {
        now: values.t ? [start, stop] : null,
        were: null,
      });
    },
    move: bars.move,
  };
}

/** delta in the box: its number, and a signed bar with the outline of what it was. */
function makeChipDelta(parent, model, words, slots) {
  const { x, width, l } = slots;
  const reading = makeReading(parent, 'ink', 'delta', 'delta');
  reading.place(x, l.y, l.wasX, l.wasY);
  const { low, high } = model.ranges.sum;
  const at = makeScale(low, high, x, x + width);
  const zero = at(0);
  const bar = svg(parent, 'rect', { y: l.bar, height: l.height });
  const outline = svg(parent, 'rect', {
    class: 'bwp-outline bwp-s-t',
    'data-testid': 'delta-outline',
    y: l.bar,
    height: l.height,
  });
  const [y1, y2] = [l.bar - 3, l.bar + l.height + 3];
  svg(parent, 'line', { class: 'bwp-zero', x1: zero, x2: zero, y1, y2 });
  const cross = svg(parent, 'path', {
    class: 'bwp-cross',
    d: crossPath(zero, l.bar + l.height / 2, 6),
  });
  const place = (value) => (Number.isFinite(value) ? at(value) : zero);
  const span = (to) => ({ x: Math.min(zero, to), width: Math.abs(to - zero) });
  return {
    set({ state, before, step }) {
      const isNew = step.values.delta !== undefined;
      const told = isNew && before.delta !== 0;
      const was = told ? words.say('player.was', { value: formatSum(before.delta) }) : null;
      reading.set(formatSum(state.delta), was, isNew);
      put(bar, { class: isNew ? 'bwp-p-t' : 'bwp-p-t-rest' });
      show(outline, told);
      put(outline, span(place(before.delta)));
      show(cross, Number.isNaN(state.delta));
      return [place(state.delta)];
    },
    move([to]) {
      put(bar, span(to));
    },
  };
}
