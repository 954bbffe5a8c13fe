// On a phone: the row that is followed alone, its scores, then what is kept on chip for it.

const PHONE_HEIGHTS = {
  rows: (model) => 232 + (model.headDim ? 44 : 0),
  matrices: () => 300,
  merge: () => 190,
};

function makeRowCard(parent, canvas, { width, height }, model, words) {
  const n = Math.min(model.grid.colBlock, model.grid.nCols);
  const pitch = Math.min(44, width / n);
  const head = svg(parent, 'text', { class: 'bwp-head', x: 0, y: 16 });
  const hatch = svg(parent, 'path', {
    class: 'bwp-masked',
    fill: hatching(parent, 'bwp-hatch-mask', 4),
  });
  const cells = makePool(parent, (g) => svg(g, 'text', { 'text-anchor': 'middle', y: 45 }));
  svg(parent, 'rect', { class: 'bwp-box', x: 0, y: 66, width, height: height - 72, rx: 6 });
  svg(parent, 'text', { class: 'bwp-axis', x: 14, y: 88, text: words.say('player.on_chip') });
  const m = makeReading(parent, 'm', 'm', 'm');
  const l = makeReading(parent, 'l-text', 'l', 'l');
  m.place(14, 116, 150, 116);
  l.place(14, 148, 150, 148);
  const chip = makeChip(parent, 'alpha-chip');
  const bars = ['l-rest', 'l'].map((kind) =>
    svg(parent, 'rect', { class: `bwp-p-${kind}`, y: 160, height: 22 }),
  );
  const was = svg(parent, 'rect', { class: 'bwp-outline bwp-s-l', x: 14, y: 160, height: 22 });
  svg(parent, 'text', { class: 'bwp-reading bwp-f-o bwp-strong', x: 14, y: 218, text: 'o' });
  const columns = { outputs: { x: 44, width: width - 58 } };
  const outputs = makeOutputSquares(parent, columns, model);
  const strip = [{ y: 212 - ROWS_HEAD, h: 52 }];
  const scale = (value) =>
    Number.isFinite(value) ? (Math.max(0, value) / model.ranges.sum) * (width - 28) : 0;

  const drawCells = (view, row) => {
    const weights = ofVisit(view, 'p');
    const scores = ofVisit(view, 'scores');
    const values = weights || scores;
    canvas.clear(0, 0, width, 64);
    let masked = '';
    const printable = [];
    if (values) {
      canvas.colour(weights ? 'l' : 'ink-2');
      values[row].forEach((value, j) => {
        const x = j * pitch;
        if (scores && scores[row][j] === -Infinity) masked += barPath(x, pitch - 1, 26, 54);
        else if (weights || pitch < 30)
          inkCell(
            canvas,
            x,
            26,
            pitch - 1,
            28,
            value,
            weights ? 1 : model.ranges.of('scores'),
            pitch < 30 ? 1 : WEIGHT_GROUND,
          );
        if (pitch >= 30 && !(scores && scores[row][j] === -Infinity))
          printable.push([x + pitch / 2, weights ? formatWeight(value) : formatNarrow(value, 1)]);
      });
    }
    put(hatch, { d: masked });
    cells.fit(printable, (node, [x, text]) => {
      put(node, { x, class: 'bwp-cell bwp-f-ink' });
      setText(node, text);
    });
  };

  return {
    set(view) {
      const { state, before, step, since, visit, chosen, shrinks, extents } = view;
      const row = chosen.m;
      const isWeights = ofVisit(view, 'p') !== undefined;
      const title = words.say(isWeights ? 'player.row_weights' : 'player.row_scores', {
        row: rowNumber(view, row),
      });
      setText(head, title);
      if (!extents.m) return [];
      drawCells(view, row);
      const top = maximaOf(state)[row];
      const isRising = step.phase === 'new_max' || step.phase === 'rescale';
      const rises = isRising && since.m_new >= visit.first && top !== state.m[row];
      const old = rises && Number.isFinite(state.m[row]) ? formatApart(state.m[row], top) : null;
      m.set(formatNarrow(top, 2), old && words.say('player.was', { value: old }), rises);
      const [now, last] = [state.l[row], before.l[row]];
      const changed = !Object.is(now, last);
      l.set(
        formatSum(now),
        changed && last ? words.say('player.was', { value: formatSum(last) }) : null,
        changed,
      );
      const isShrinking = shrinks && changed;
      const alpha = since.alpha >= visit.first ? state.alpha[row] : 1;
      const text = isShrinking ? `\u00d7 ${formatFactor(alpha)}` : '';
      chip.set(text, width - 54, 142, true, 13);
      show(was, isShrinking);
      put(was, { width: scale(last) });
      const kept = isShrinking ? 0 : Math.min(scale(last), scale(now));
      put(bars[0], { x: 14, width: kept });
      put(bars[1], { x: 14 + kept, width: Math.max(0, scale(now) - kept) });
      const single = {
        ...view,
        state: oneRow(state, row),
        before: oneRow(before, row),
        step: oneRowStep(step, row),
      };
      return outputs.set(single, strip);
    },
    move(vector) {
      if (vector.length) outputs.move(vector, strip);
    },
  };
}

/** A state that has only one row, for what draws all rows. */
function oneRow(state, row) {
  const output = outputOf(state);
  return { acc: output && [output[row]], l: [state.l && state.l[row]] };
}

function oneRowStep(step, row) {
  const { alpha } = step.values;
  return { ...step, values: alpha ? { ...step.values, alpha: [alpha[row]] } : step.values };
}
