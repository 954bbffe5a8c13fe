// One figure: eyebrow, caption, drawings. `set(index)` draws a step; a tween joins two of them.

const PANELS = {
  scores: makeScoresPanel,
  weights: makeWeightsPanel,
  weighted_values: makeValuesPanel,
  outputs: makeOutputsPanel,
  operands: makeOperandsPanel,
  products: makeProductsPanel,
};

function makeFigure(model, words, { onSeek, titled }) {
  const section = html(null, 'section', 'bwp-figure');
  const { eyebrow, caption } = makeFigureHead(section);
  const picture = html(section, 'div', 'bwp-picture');
  picture.setAttribute('role', 'img');
  const history = html(section, 'div', 'bwp-history');
  history.setAttribute('aria-hidden', 'true');
  const ticks = html(section, 'div', 'bwp-ticks');
  ticks.setAttribute('aria-hidden', 'true');
  const motion = makeMotion({ section, eyebrow, caption, picture }, (view, place) => ({
    eyebrow: eyebrowParts(words, view, { ...place, titled }),
    caption: captionParts(words, view, place.isDone),
  }));

  /** Make every drawing anew: for a new trace, a new width or another mode. */
  function build(layout, tickLayout, unit) {
    const drawing = (host, width, height) => {
      const node = svg(null, 'svg', {
        class: 'bwp-svg',
        viewBox: `0 0 ${round(width)} ${round(height)}`,
      });
      put(node, { width: width * unit, height: height * unit });
      host.replaceChildren(node);
      return node;
    };
    const main = drawing(picture, layout.width, layout.height);
    const column = makeColumn(
      main,
      layout.ruler,
      layout.head,
      layout.isPhone && layout.chip ? layout.chip.top - 8 : layout.height,
    );
    const chipLayer = svg(main, 'g');
    const panels = [{ set: ({ step }) => (column(step), []), move() {} }];
    panels.push(withoutMotion(makeRulerPanel(main, layout, model, words)));
    for (const name of model.panels) {
      if (layout.panels[name]) panels.push(PANELS[name](main, layout, model, words));
    }
    if (layout.chip) panels.push(makeChipPanel(chipLayer, layout, model, words));
    panels.push(
      rebuilt(history, layout.width, (node) => makeHistoryPanel(node, layout, model, words)),
    );
    panels.push(
      rebuilt(ticks, tickLayout.width, (node) => makeTicks(node, tickLayout, model, words, onSeek)),
    );
    listenForBlocks(main, layout);
    motion.use(panels);

    /** A drawing whose height is known only once it is made. */
    function rebuilt(host, width, make) {
      const node = drawing(host, width, 10);
      const panel = make(node);
      put(node, {
        viewBox: `0 0 ${round(width)} ${round(panel.height)}`,
        height: panel.height * unit,
      });
      return panel;
    }
  }

  /** A click on a block number goes to that block's first sub-step in the current pass. */
  function listenForBlocks(node, layout) {
    const { ruler } = layout;
    const hit = svg(node, 'rect', {
      class: 'bwp-hit',
      x: ruler.left,
      y: 0,
      width: ruler.width,
      height: layout.head + 24,
    });
    hit.addEventListener('click', (event) => {
      const box = node.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * layout.width;
      const block = Math.max(
        0,
        Math.min(model.nBlocks - 1, Math.floor((x - ruler.left) / ruler.column)),
      );
      const { pass } = model.steps[section.dataset.index];
      const visit = model.visits.find((v) => v.pass === pass && v.block === block);
      if (visit) onSeek(visit.first);
    });
  }

  const { set, move } = motion;
  return { section, caption, history, ticks, model, build, set, move };
}

/** The words that stand over every figure. */
function makeFigureHead(section) {
  const eyebrow = html(section, 'p', 'bwp-eyebrow');
  eyebrow.dataset.testid = 'eyebrow';
  const caption = html(section, 'p', 'bwp-caption');
  caption.dataset.testid = 'caption';
  return { eyebrow, caption };
}

/**
 * A figure's words and panels, as pictures that follow one another. `use` takes new panels,
 * `wordsOf(view, place)` gives the parts of eyebrow and caption.
 */
function makeMotion({ section, eyebrow, caption, picture }, wordsOf) {
  let panels = [];
  let shown = null; // the vectors now on screen, one a panel
  let targets = null;

  function use(made) {
    panels = made;
    shown = null;
  }

  /** Draw the words and marks of a view at once, and say where everything that moves must go. */
  function set(view, place) {
    section.dataset.index = view.index;
    section.classList.toggle('bwp-is-done', place.isDone);
    const said = wordsOf(view, place);
    setParts(eyebrow, said.eyebrow);
    setParts(caption, said.caption);
    picture.setAttribute('aria-label', plainText(said.caption));
    targets = panels.map((panel) => panel.set(view));
    if (!shown) move(1);
  }

  /** Move everything to `fraction` of the way from what is on screen to the targets. */
  function move(fraction) {
    const next =
      fraction >= 1 || !shown
        ? targets
        : targets.map((target, i) => blend(shown[i], target, fraction));
    panels.forEach((panel, i) => panel.move(next[i]));
    if (fraction >= 1) shown = targets;
    return next;
  }

  return { use, set, move };
}

function withoutMotion(panel) {
  return { set: (view) => (panel.set(view), []), move() {} };
}

/** Between two vectors; what was not there before grows from nothing. */
function blend(from, to, fraction) {
  return Array.from(to, (value, i) => {
    const start = Number.isFinite(from[i]) ? from[i] : from.length === to.length ? value : 0;
    return Number.isFinite(value) ? start + (value - start) * fraction : value;
  });
}

/** Join the picture on screen to the one that was set; any earlier tween is cut short. */
function makeTween(figures) {
  let frame = 0;
  return {
    finish() {
      cancelAnimationFrame(frame);
      for (const figure of figures) figure.move(1);
    },
    run(duration) {
      const start = performance.now();
      const tick = (now) => {
        const t = Math.min(1, Math.max(0, (now - start) / duration));
        for (const figure of figures) figure.move(t >= 1 ? 1 : 1 - (1 - t) ** 3);
        if (t < 1) frame = requestAnimationFrame(tick);
      };
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(tick);
    },
  };
}
