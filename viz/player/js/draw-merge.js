// The splits of a row as leaves that one root joins: how much each weighs, and what they make.

const LEAF_GAP = 12;

/** The parts that the splits of the running row have left so far; null for those to come. */
function partsOfRow({ model, index, row, chosen }) {
  const { n_splits: n } = model.sizes;
  return Array.from({ length: n }, (_, split) => {
    const program = model.programs.find(
      (one) => one.kind === 'split' && one.row === row && one.split === split,
    );
    const isEmpty = program.tiles.length === 0;
    const isRunning = program.first <= index && index <= program.last;
    let done = -1;
    for (let i = program.first; i <= Math.min(index, program.last); i += 1)
      if (model.steps[i].values.lse_part) done = i;
    if (done < 0) return { split, isEmpty, isRunning, isDone: false, lse: NaN, o: null };
    const { lse_part: lse, o_part: o } = model.steps[done].values;
    return { split, isEmpty, isRunning, isDone: true, lse: lse[chosen.m], o: o[chosen.m] };
  });
}

function makeMergePanel(parent, canvas, { width, height, kind }, model, words) {
  const n = model.sizes.n_splits || 1;
  const pitch = width / n;
  const leaf = {
    width: Math.min(230, pitch - Math.min(LEAF_GAP, pitch * 0.2)),
    height: 44,
    top: 22,
  };
  const root = { width: Math.min(300, width), height: 44, top: height - 48 };
  root.x = width / 2 - root.width / 2;
  const every = Math.ceil(40 / pitch); // where edges are too close, not each carries its number
  const leafX = (s) => s * pitch + (pitch - leaf.width) / 2;
  const title = svg(parent, 'text', { class: 'bwp-head', x: 0, y: 13 });
  const note = svg(parent, 'text', { class: 'bwp-axis', y: 13 });
  const edges = Array.from({ length: n }, (_, s) =>
    svg(parent, 'path', { class: 'bwp-edge', 'data-testid': `edge-${s}` }),
  );
  const weights = Array.from({ length: n }, (_, s) =>
    svg(parent, 'text', {
      class: 'bwp-weight',
      'text-anchor': 'middle',
      'data-testid': `weight-${s}`,
    }),
  );
  const fillHatch = hatching(parent, 'bwp-hatch-mask', 4);
  const leaves = Array.from({ length: n }, (_, s) =>
    makeMergeBox(parent, { ...leaf, x: leafX(s) }, model, `leaf-${s}`, fillHatch),
  );
  const whole = makeMergeBox(parent, { ...root }, model, 'root', fillHatch);

  const drawEdge = (s, share) => {
    const [x0, y0, x1, y1] = [
      leafX(s) + leaf.width / 2,
      leaf.top + leaf.height,
      rootX(s),
      root.top,
    ];
    const middle = (y0 + y1) / 2;
    const isKnown = Number.isFinite(share);
    put(edges[s], {
      d: `M${round(x0)} ${y0}C${round(x0)} ${round(middle)} ${round(x1)} ${round(middle)} ${round(x1)} ${round(y1)}`,
      class: isKnown && share > 0 ? 'bwp-edge' : 'bwp-edge bwp-edge-next',
      style: `stroke-width: ${isKnown && share > 0 ? round(Math.max(1.2, share * Math.min(26, root.width / n))) : 1.2}px`,
    });
    put(weights[s], { x: (x0 + x1) / 2, y: middle + 4.5 });
    setText(weights[s], isKnown && s % every === 0 ? formatShare(share) : '');
  };
  const rootX = (s) => root.x + (root.width * (s + 0.5)) / n;

  return {
    set(view) {
      const parts = partsOfRow(view);
      const { state, chosen, step } = view;
      const hasWeights = Boolean(state.weight);
      setText(title, words.say('player.merge'));
      setText(note, mergeNote(words, view));
      put(note, { x: sansWidth(words.say('player.merge'), 15) * 1.12 + 14 });
      parts.forEach((part, s) => {
        const share = hasWeights ? shareOf(state, chosen.m, s) : NaN;
        drawEdge(s, share);
        leaves[s].set({
          name:
            leaf.width > 120
              ? words.say('player.axis.split', { n: s })
              : leaf.width > 30
                ? `s${s}`
                : '',
          lse:
            part.isEmpty && part.isDone
              ? words.say('player.no_keys')
              : part.isDone
                ? `lse ${formatNarrow(part.lse, 2)}`
                : '',
          o: part.isEmpty ? null : part.o,
          state: part.isRunning ? 'now' : part.isDone ? 'done' : 'next',
          isEmpty: part.isEmpty,
        });
      });
      whole.set({
        name: state.o ? 'o' : words.say('player.merged'),
        lse: state.lse ? `lse ${formatNarrow(state.lse[chosen.m], 2)}` : '',
        o: state.o ? state.o[chosen.m] : null,
        state: step.phase === 'merge' ? 'now' : state.o ? 'done' : 'next',
        isEmpty: false,
      });
    },
  };
}

/** A split's part of the total weight of a row. */
function shareOf({ weight, sum }, row, split) {
  return sum[row] === 0 ? 0 : weight[row][split] / sum[row];
}

/** A share to two decimals; more where that would say 0 or 1 of what is neither. */
function formatShare(value) {
  if (value === 0 || value === 1) return String(value);
  if (value < 0.005) return exponential(value, 0).replaceAll('-', MINUS);
  return value > 0.995 ? formatFactor(value) : value.toFixed(2);
}

/** Which row the numbers are of, and whether its splits have been weighed. */
function mergeNote(words, view) {
  const row = rowNumber(view, view.chosen.m);
  const key = view.state.weight ? 'player.merge_weights' : 'player.merge_waits';
  return words.say(key, { row });
}

/** A leaf or the root: its name, its lse, and its output as squares. */
function makeMergeBox(parent, { x, top, width, height }, model, testid, fill) {
  const box = svg(parent, 'rect', { x, y: top, width, height, rx: 5, 'data-testid': testid });
  const hatch = svg(parent, 'rect', { class: 'bwp-masked', x, y: top, width, height, rx: 5, fill });
  const name = svg(parent, 'text', { class: 'bwp-leaf-name', x: x + 8, y: top + 16 });
  const lse = svg(parent, 'text', {
    class: 'bwp-leaf-lse',
    x: x + width - 8,
    y: top + 16,
    'text-anchor': 'end',
  });
  const squares = svg(parent, 'path', { class: 'bwp-p-o' });
  const line = svg(parent, 'path', {
    class: 'bwp-hair-line',
    d: `M${x + 8} ${top + 31}h${width - 16}`,
  });
  const pitch = (width - 16) / model.headDim;
  const largest = model.ranges.of('o', 'o_part');
  const path = (o) => {
    let d = '';
    o.forEach((value, k) => {
      if (!Number.isFinite(value) || value === 0) return;
      const share = Math.min(1, Math.abs(value) / largest);
      // Squares too small to be compared become bars.
      const w = pitch < SQUARES_FROM ? pitch * 0.8 : Math.min(pitch * 0.95, 11) * Math.sqrt(share);
      const h = pitch < SQUARES_FROM ? 11 * share : w;
      d += barPath(x + 8 + (k + 0.5) * pitch - w / 2, w, top + 31, top + 31 - Math.sign(value) * h);
    });
    return d;
  };
  return {
    set({ name: text, lse: number, o, state, isEmpty }) {
      put(box, { class: `bwp-leaf bwp-leaf-${state}` });
      show(hatch, isEmpty && state !== 'next');
      setText(name, text);
      const fits = (one) => monoWidth(one, 13) + sansWidth(text, 14) + 22 < width;
      setText(lse, [number, number.replace('lse ', '')].find(fits) || '');
      put(squares, { d: o ? path(o) : '', class: state === 'now' ? 'bwp-p-o' : 'bwp-p-o-rest' });
      show(line, Boolean(o));
    },
  };
}
