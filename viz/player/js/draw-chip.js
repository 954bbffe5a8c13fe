// "Kept on chip": the running m at its level, l as a bar, o as signed bars, with what they were.

const CHIP_SIZE = 13;
const EDGE = 10; // px into the box's own margin that a chip may reach

function chipHalf(text) {
  return monoWidth(text, CHIP_SIZE) / 2 + 5;
}

/** Where each thing stands in the box, beside its panel or, on a phone, one under the other. */
function chipSlots(layout, model) {
  const { chip, panels, row, isPhone, isLow } = layout;
  const inner = { x: chip.x + 14, width: chip.width - 28 };
  if (!isPhone) {
    const l = panels.products
      ? chip.top + 24
      : panels.weights.top + Math.min(4, panels.weights.height - 64);
    const values = panels.weighted_values;
    return {
      ...inner,
      l: isLow
        ? { y: l, bar: l + 9, height: 20, wasX: inner.x, wasY: l + 44, chipX: null }
        : { y: l, bar: l + 13, height: 25, wasX: inner.x, wasY: l + 56, chipX: null },
      o: values && { y: values.top - 5, top: values.top },
      row,
    };
  }
  const m = chip.top + (model.hasMax ? 56 : 24);
  const l = m + 32;
  return {
    ...inner,
    m: { y: m, wasX: inner.x + 104, wasY: m },
    l: { y: l, bar: l + 13, height: 25, wasX: inner.x + 124, wasY: l, chipX: chip.x + chip.width - 54 },
    o: { y: l + 58, top: l + 44 },
    row,
  };
}

function makeChipPanel(parent, layout, model, words) {
  const { chip } = layout;
  svg(parent, 'rect', {
    class: 'bwp-box',
    x: chip.x,
    y: chip.top,
    width: chip.width,
    height: chip.bottom - chip.top,
    rx: 6,
  });
  if (layout.isPhone) {
    svg(parent, 'text', {
      class: 'bwp-axis',
      x: chip.x + 14,
      y: chip.top + 24,
      text: words.say('player.on_chip'),
    });
  }
  const slots = chipSlots(layout, model);
  const parts = [];
  if (model.hasMax) parts.push(makeChipMaximum(parent, layout, model, words, slots));
  const makeSum = model.sum === 'delta' ? makeChipDelta : makeChipSum;
  parts.push(makeSum(parent, model, words, slots));
  if (model.on_chip.includes('acc')) parts.push(makeChipOutputs(parent, model, words, slots));
  return {
    set(view) {
      const vectors = parts.map((part) => part.set(view));
      this.lengths = vectors.map((vector) => vector.length);
      return vectors.flat();
    },
    move(vector) {
      let from = 0;
      parts.forEach((part, i) => {
        part.move(vector.slice(from, from + this.lengths[i]));
        from += this.lengths[i];
      });
    },
  };
}

/** A name and its number, big, then "was …" in the same colour. */
function makeReading(parent, kind, symbol, testid) {
  const text = svg(parent, 'text', { class: `bwp-reading bwp-f-${kind}` });
  const name = svg(text, 'tspan', { class: 'bwp-strong', text: symbol });
  const value = svg(text, 'tspan', { dx: 9, 'data-testid': testid });
  const was = svg(parent, 'text', {
    class: `bwp-was bwp-f-${kind}`,
    'data-testid': `${testid}-was`,
  });
  return {
    /** A part's numbers go by other names, until they are merged. */
    rename: (to) => setText(name, to),
    set(printed, old, isMoving) {
      setText(value, printed);
      put(value, { class: isMoving ? 'bwp-strong' : '' });
      setText(was, old ?? '');
    },
    was: () => was.textContent,
    place(x, y, wasX, wasY) {
      put(text, { x, y });
      put(was, { x: wasX, y: wasY });
    },
  };
}

/** Whether a program holds no more than its own part yet. */
function isPart({ model, step }) {
  return model.hasParts && step.pass === 0;
}

function makeChipMaximum(parent, layout, model, words, slots) {
  const reading = makeReading(parent, 'm', 'm', 'm');
  const { scores } = layout.panels;
  const scale = makeScale(model.ranges.low, model.ranges.high, scores.bottom, scores.top);
  const lowest = Math.min(scores.bottom + 8, slots.l.y - 18);
  const place = (value, rise) => {
    if (slots.m) {
      reading.place(slots.x, slots.m.y, slots.m.wasX, slots.m.wasY);
      return;
    }
    const y = Math.max(layout.chip.top + 20, (levelOf(scale, scores, value) ?? lowest - 6) + 6);
    const was = rise ? Math.min(lowest, Math.max(scale(rise.old) + 5, y + 20)) : y;
    reading.place(slots.x, y, slots.x, was);
  };
  return {
    set(view) {
      const value = view.state.top ?? -Infinity;
      const moves = view.step.values.m_new ?? view.step.values.m ?? view.step.values.m_part;
      if (model.hasParts) reading.rename(isPart(view) ? 'm_part' : 'm');
      const old = view.rise ? words.say('player.was', { value: formatScore(view.rise.old) }) : null;
      reading.set(formatScore(value), old, view.step.phase !== 'accumulate' && moves !== undefined);
      place(value, view.rise);
      return [];
    },
    move() {},
  };
}

function makeChipSum(parent, model, words, slots) {
  const reading = makeReading(parent, 'l-text', 'l', 'l');
  const { x, width, l } = slots;
  reading.place(x, l.y, l.wasX, l.wasY);
  const scale = (value) =>
    Number.isFinite(value)
      ? (Math.max(0, value) / model.ranges.sum.high) * width
      : value > 0
        ? width
        : 0;
  const bar = (name) => svg(parent, 'rect', { class: `bwp-p-${name}`, y: l.bar, height: l.height });
  const carried = bar('l-rest');
  const added = bar('l');
  const was = svg(parent, 'rect', { class: 'bwp-outline bwp-s-l', x, y: l.bar, height: l.height });
  const infinite = svg(parent, 'rect', {
    class: 'bwp-hatched bwp-s-l',
    x,
    y: l.bar,
    height: l.height,
    width,
    fill: hatching(parent, 'bwp-s-l'),
  });
  const cross = svg(parent, 'path', { class: 'bwp-cross', d: crossPath(x + 8, l.bar + l.height / 2, 6) });
  const chip = makeChip(parent, 'alpha-chip-l');
  return {
    set(view) {
      const name = isPart(view) ? 'l_part' : 'l';
      if (model.hasParts) reading.rename(name);
      const now = view.state[name] ?? 0;
      const old = view.before[name] ?? 0;
      const changed = view.step.values[name] !== undefined && !Object.is(now, old);
      const told = changed && (view.shrinks || old !== 0);
      reading.set(
        formatSum(now),
        told ? words.say('player.was', { value: formatSum(old) }) : null,
        changed,
      );
      const oldWidth = scale(old);
      show(was, view.shrinks && oldWidth > 0);
      put(was, { width: oldWidth });
      show(infinite, now === Infinity);
      show(cross, Number.isNaN(now));
      placeChip(view, scale(now), oldWidth);
      const isAdding =
        (Boolean(view.fresh) || (model.hasParts && changed)) && Number.isFinite(now);
      if (view.shrinks) return [0, scale(now)];
      return isAdding
        ? [scale(old), scale(now) - scale(old)]
        : [Number.isFinite(now) ? scale(now) : 0, 0];
    },
    move([rest, fresh]) {
      put(carried, { x, width: Math.max(0, rest) });
      put(added, { x: x + rest, width: Math.max(0, fresh) });
    },
  };

  function placeChip(view, filled, oldWidth) {
    const text = view.shrinks ? `\u00d7 ${formatFactor(view.alpha)}` : '';
    const half = chipHalf(text);
    if (slots.l.chipX) {
      chip.set(text, slots.l.chipX + 40 - half, l.y - 6, true, CHIP_SIZE);
      return;
    }
    // Inside the outline where there is room, else beside "was …", else over the bar's end.
    const isInside = oldWidth - filled > 2 * half + 6;
    const isBeside = monoWidth(reading.was(), 13) + 2 * half < width + EDGE;
    if (isInside) chip.set(text, x + oldWidth - half - 3, l.bar + l.height / 2, true, CHIP_SIZE);
    else
      chip.set(
        text,
        x + width + EDGE - half,
        isBeside ? l.wasY - 5 : l.bar + l.height / 2,
        true,
        CHIP_SIZE,
      );
  }
}

function makeChipOutputs(parent, model, words, slots) {
  const { x, width, row, o } = slots;
  const zero = x + width / 2;
  const half = width / 2 - 2;
  const thickness = Math.min(18, row * 0.62);
  const head = svg(parent, 'text', {
    class: 'bwp-reading bwp-f-o bwp-strong',
    x,
    y: o.y,
    text: 'o',
  });
  const note = svg(parent, 'text', { class: 'bwp-was bwp-f-o', x: x + 24, y: o.y });
  const chip = makeChip(parent, 'alpha-chip-o');
  const center = (d) => o.top + (d + 0.5) * row;
  const lines = Array.from({ length: model.headDim }, (_, d) => {
    const y = center(d) - thickness / 2;
    const bar = (name) => svg(parent, 'rect', { class: `bwp-p-${name}`, y, height: thickness });
    const value =
      row < 15
        ? null
        : svg(parent, 'text', {
            class: 'bwp-number bwp-f-o',
            y: center(d) + 5,
            'data-testid': `o-${d}`,
          });
    const [fill, outline] = [
      bar('o-rest'),
      svg(parent, 'rect', { class: 'bwp-outline bwp-s-o', y, height: thickness }),
    ];
    const cross = svg(parent, 'path', {
      class: 'bwp-cross',
      d: crossPath(zero, center(d), Math.min(5, row / 3)),
    });
    return { fill, outline, value, cross };
  });
  svg(parent, 'line', {
    class: 'bwp-zero',
    x1: zero,
    x2: zero,
    y1: o.top,
    y2: o.top + model.headDim * row,
  });
  const length = (v) =>
    Number.isNaN(v) ? 0 : Math.max(-1, Math.min(1, v / model.ranges.acc)) * half;
  const outputsOf = (state) => state.o || state.acc || [];
  const span = (l) => ({ x: Math.min(zero, zero + l), width: Math.abs(l) });

  return {
    set(view) {
      const now = outputsOf(view.state);
      const old = outputsOf(view.before);
      const { phase } = view.step;
      const isFinal = view.state.o !== undefined;
      const isMoving = phase === 'accumulate' || view.shrinks || isFinal;
      const keepsOld = phase === 'accumulate' || view.shrinks || phase === 'normalize';
      put(head, { class: 'bwp-reading bwp-f-o bwp-strong' });
      setText(
        note,
        phase === 'store' ? words.say('player.to_hbm') : phase === 'normalize' ? '\u00f7 l' : '',
      );
      const text = view.shrinks ? `\u00d7 ${formatFactor(view.alpha)}` : '';
      chip.set(text, x + 26 + chipHalf(text), o.y - 6, true, CHIP_SIZE);
      lines.forEach((line, d) => {
        const value = now[d] ?? 0;
        put(line.fill, { class: isMoving ? 'bwp-p-o' : 'bwp-p-o-rest' });
        const was = keepsOld ? length(old[d] ?? 0) : 0;
        show(line.outline, Math.abs(was) > 0.5);
        put(line.outline, span(was));
        show(line.cross, Number.isNaN(value));
        const side = Math.abs(length(value)) > 0.5 ? length(value) : was;
        if (line.value) placeNumber(line.value, value, side, isMoving);
      });
      return lines.map((_, d) => length(now[d] ?? 0));
    },
    move(lengths) {
      lines.forEach(({ fill }, d) => put(fill, span(lengths[d])));
    },
  };

  /** Print a number on the empty side of the zero line. */
  function placeNumber(node, value, l, isMoving) {
    const side = l < 0 ? 1 : -1;
    put(node, {
      x: zero + side * 8,
      'text-anchor': side > 0 ? 'start' : 'end',
      class: `bwp-number bwp-f-o${isMoving ? ' bwp-strong' : ''}`,
    });
    setText(node, formatSum(value));
  }
}
