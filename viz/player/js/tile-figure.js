// One figure of a grid: words, the grid with its reads at the left, panels of state beside it.

function makeTileFigure(model, words, { onSeek, onRow, titled }) {
  const section = html(null, 'section', 'bwp-figure bwp-figure-tiles');
  const { eyebrow, caption } = makeFigureHead(section);
  const board = html(section, 'div', 'bwp-board');
  const side = html(board, 'div', 'bwp-side');
  const picture = html(side, 'div', 'bwp-picture');
  picture.setAttribute('role', 'img');
  const sideHost = html(side, 'div', 'bwp-side-text');
  const main = html(board, 'div', 'bwp-main');
  const panelHost = html(main, 'div', 'bwp-panels');
  panelHost.setAttribute('aria-hidden', 'true');
  const textHost = html(main, 'div', 'bwp-board-text');
  const ticks = html(section, 'div', 'bwp-ticks');
  ticks.setAttribute('aria-hidden', 'true');
  const motion = makeMotion({ section, eyebrow, caption, picture }, (view, place) => ({
    eyebrow: tileEyebrowParts(words, view, { ...place, titled }),
    caption: tileCaptionParts(words, view, place.isDone),
  }));

  const drawing = (host, width, height, unit, hasCanvas) => {
    const node = svg(null, 'svg', {
      class: 'bwp-svg',
      viewBox: `0 0 ${round(width)} ${round(height)}`,
    });
    put(node, { width: width * unit, height: height * unit });
    host.replaceChildren(node);
    return { node, canvas: hasCanvas ? makeCanvas(host, width, height, unit) : null };
  };

  /** Make every drawing anew: for a new trace, a new width or another mode. */
  function build(layout, tickWidth, unit) {
    const { grid, heights } = layout;
    board.style.setProperty('--bw-side', `${layout.board.side * unit}px`);
    board.style.setProperty('--bw-board-gap', `${layout.board.gap * unit}px`);
    board.classList.toggle('bwp-board-stacked', layout.isStacked);
    board.style.minHeight = layout.isStacked ? '' : `${Math.floor(layout.board.height * unit)}px`;
    const left = drawing(picture, layout.board.side, grid.height, unit, true);
    const onTile = (tile) => onSeek(firstStepAt(model, tile, section.dataset.index));
    const panels = [
      withoutMotion(makeGridPanel(left.node, left.canvas, layout, model, words, { onTile, onRow })),
      withoutMotion(makeReadsPanel(left.node, layout, model, words)),
    ];
    panelHost.replaceChildren();
    for (const { name, height, isShown } of panelsOf(model, heights, layout)) {
      const host = html(panelHost, 'div', `bwp-panel bwp-panel-${name}`);
      const size = { width: layout.board.main, height, kind: layout.kind };
      const { node, canvas } = drawing(host, size.width, height, unit, true);
      const make = layout.isPhone && name === 'rows' ? makeRowCard : TILE_PANELS[name];
      const panel = make(node, canvas, size, model, words, { onRow });
      panels.push(shownWhere(host, panel.move ? panel : withoutMotion(panel), isShown));
    }
    const tickHeight = tileTicksHeight(model, layout.isPhone);
    const { node } = drawing(ticks, tickWidth, tickHeight, unit, false);
    panels.push(makeTileTicks(node, tickWidth, layout.isPhone, model, words, onSeek));
    motion.use(panels);
  }

  const { set, move } = motion;
  return { section, caption, ticks, sideHost, textHost, model, build, set, move };
}

const TILE_PANELS = {
  rows: makeRowsPanel,
  matrices: makeMatricesPanel,
  merge: makeMergePanel,
};

/** The panels in order, and when each is shown: rows have no state in a merge, which then grows. */
function panelsOf(model, heights, { isPhone }) {
  const heightOf = (name) => (isPhone ? PHONE_HEIGHTS[name](model) : heights[name]);
  const names = model.panels.filter((name) => TILE_PANELS[name]);
  const hasRows = ({ step }) => model.passOf.get(step.pass).made.has('l');
  const both = names.includes('rows') && names.includes('merge');
  return names.flatMap((name) => {
    const height = heightOf(name);
    if (name === 'rows') return [{ name, height, isShown: hasRows }];
    if (!both || isPhone) return [{ name, height, isShown: () => true }];
    const tall = height + heightOf('rows') + PANEL_GAP;
    return [
      { name, height, isShown: hasRows },
      { name, height: tall, isShown: (view) => !hasRows(view) },
    ];
  });
}

/** A panel that takes part only where it is shown. */
function shownWhere(host, panel, isShown) {
  let isOn = false;
  return {
    set(view) {
      isOn = isShown(view);
      show(host, isOn);
      return isOn ? panel.set(view) : [];
    },
    move(vector) {
      if (isOn) panel.move(vector);
    },
  };
}

/** The first step at a tile, in the running pass if that goes there, else in the next that does. */
function firstStepAt(model, tile, index) {
  const visits = model.tileVisits[tileNumber(model, tile)];
  const { pass } = model.steps[index];
  const found = visits.find((visit) => visit.pass === pass) || visits[0];
  return found ? found.first : Number(index);
}
