// Where everything stands in a figure of tiles: the grid at the left, the panels of state beside it.

const TILE_GAP = 2; // px between two tiles
const LARGEST_CELL = 46;
const LEAST_TILE = 40; // px: a single row of tiles is not drawn as a line
const DOTS_ACROSS = 4; // under a column that has room for them
const READ_DOT = { least: 5, most: 9 }; // px from one dot to the next
const ROW_DOT = 6; // px from one dot to the next at the end of a row
const READ_LINES = 6; // lines of dots under a column, at most
const GRID_SURROUND = 160; // px: what stands above and below a grid, less what stands beside it
const GRID_GUTTER = 38;
const GRID_HEAD = 22;
const SPLIT_HEAD = 20; // px: over the columns, which split takes which
const OPERAND_GAP = 8;

/** The tensors that stand beside a product's grid: the rows' at its left, the columns' on top. */
function operandsOf({ problem, grid, sizes }) {
  if (problem !== 'matmul') return null;
  return { left: grid.row_reads[0], top: grid.col_reads[0], depth: sizes.size_k };
}

/** The places of the tile grid within `width` by `height`. */
function gridPlaces(model, width, height) {
  const { grid } = model;
  const operands = operandsOf(model);
  const depth = operands ? operands.depth : 0;
  const between = operands ? OPERAND_GAP : 0;
  const rowReads = model.reads.rows.find(({ most }) => most > 1) || null;
  const sideDots = rowReads ? rowDotsWidth(rowReads) : 0;
  const gaps = { x: (grid.tileCols - 1) * TILE_GAP, y: (grid.tileRows - 1) * TILE_GAP };
  const room = width - GRID_GUTTER - sideDots - gaps.x - between;
  const notes =
    height - gridHead(model) - gaps.y - between - readsHeight(model, room / grid.tileCols);
  const widest = Math.min(LARGEST_CELL, room / (grid.nCols + depth));
  const highest = Math.min(LARGEST_CELL, notes / (grid.nRows + depth));
  const square = Math.max(1, Math.min(widest, highest));
  const tall = LEAST_TILE / Math.min(grid.rowBlock, grid.nRows);
  const wide = LEAST_TILE / Math.min(grid.colBlock, grid.nCols);
  const cell = {
    w: operands ? square : Math.max(square, Math.min(wide, widest)),
    h: operands ? square : Math.max(square, Math.min(tall, highest)),
  };
  const head = gridHead(model);
  const left = GRID_GUTTER + (depth ? depth * square + between : 0);
  const top = head + (depth ? depth * square + between : 0);
  const x = (col) => left + col * cell.w + Math.floor(col / grid.colBlock) * TILE_GAP;
  const y = (row) => top + row * cell.h + Math.floor(row / grid.rowBlock) * TILE_GAP;
  const box = ([row, col]) => {
    const [[i0, i1], [j0, j1]] = [grid.rowSpan(row), grid.colSpan(col)];
    return { x: x(j0), y: y(i0), width: (j1 - j0) * cell.w, height: (i1 - i0) * cell.h };
  };
  const right = x(grid.nCols - 1) + cell.w;
  const bottom = y(grid.nRows - 1) + cell.h;
  const places = { left, top, right, bottom, cell, square, x, y, box, operands, rowReads, width };
  places.reads = readsPlaces(model, places);
  places.height = places.reads.bottom;
  return places;
}

function gridHead(model) {
  return GRID_HEAD + (model.sizes.n_splits > 1 ? SPLIT_HEAD : 0);
}

function rowDotsWidth({ most }) {
  return Math.min(DOTS_ACROSS, most) * ROW_DOT + 40;
}

/** How many dots stand side by side under a column, how far apart, and how many lines that makes. */
function dotLines(most, pitch) {
  const size = Math.max(READ_DOT.least, Math.min(READ_DOT.most, (pitch - 3) / DOTS_ACROSS));
  const across = Math.max(1, Math.min(DOTS_ACROSS, Math.floor((pitch - 2) / size)));
  const lines = Math.ceil(most / across);
  // With too many a bar stands for them.
  return lines <= READ_LINES
    ? { across, lines, size }
    : { across: 0, lines: 2, size: READ_DOT.least };
}

function readsHeight(model, pitch) {
  const heights = model.reads.cols.map(({ most }) => {
    const { lines, size } = dotLines(most, pitch);
    return lines * size + 26;
  });
  return Math.max(0, ...heights) + 26;
}

/** The dots below the grid, and the sentence. Tensors that are not read together take turns there. */
function readsPlaces(model, { bottom, x, cell }) {
  const { grid } = model;
  const pitch = x(Math.min(grid.colBlock, grid.nCols) - 1) + cell.w - x(0);
  const y = bottom + 10;
  const groups = model.reads.cols.map((group) => ({
    ...group,
    ...dotLines(group.most, pitch + TILE_GAP),
    y,
  }));
  const dots = Math.max(0, ...groups.map(({ lines, size }) => lines * size));
  const labelY = y + dots + 14;
  return { groups, pitch, labelY, sentenceY: labelY + 20, bottom: labelY + 28 };
}

/** How high and wide the two sides of the board are, in the figure's own units. */
function boardPlaces(model, { width, height, kind, textHeight }) {
  if (kind === 'phone') return { side: width, main: width, gap: 0, height, textHeight };
  // Too narrow for two sides: the panels stand below the grid.
  if (kind === 'narrow')
    return { side: Math.min(width, 460), main: width, gap: 0, height, textHeight };
  const share = { lecture: 0.34, pair: 0.34 }[kind] || 0.298;
  // As wide as a square grid can be high.
  const most = kind === 'wide' ? Math.min(600, Math.max(410, height - GRID_SURROUND)) : 640;
  const side = Math.round(Math.max(260, Math.min(most, width * share)));
  const gap = width < 900 ? 20 : 27;
  return { side, gap, main: width - side - gap, height, textHeight };
}

const ROWS_HEAD = 46;
const ROW_PITCH = 24;
const ROW_TALLEST = 34;
const ROW_LEAST = 14; // px: below this rows carry no numbers, but for the one that is followed
const MERGE_LEAST = 142;
const PANEL_GAP = 14;

/** The heights of the panels beside the grid; the text below them takes what is left. */
function panelPlaces(model, board, kind) {
  const { panels, grid } = model;
  const rows = Math.min(grid.rowBlock, grid.nRows);
  const room = Math.max(150, board.height - board.textHeight);
  const heights = {};
  if (panels.includes('rows')) {
    const spared = panels.includes('merge') ? MERGE_LEAST + PANEL_GAP : 0;
    const tallest = kind === 'narrow' ? ROW_PITCH : ROW_TALLEST;
    const wanted = ROWS_HEAD + rows * tallest + 8;
    heights.rows = Math.max(ROWS_HEAD + 40, Math.min(wanted, room - spared));
  }
  if (panels.includes('merge')) {
    const left = room - (heights.rows || 0) - PANEL_GAP;
    heights.merge = Math.max(MERGE_LEAST, Math.min(kind === 'lecture' ? 260 : 176, left));
  }
  if (panels.includes('matrices')) {
    const most = Math.max(170, Math.min(460, room));
    const used = equationGroups(model).map(
      (one) => equationPlaces(model, one, board.main, most).height,
    );
    heights.matrices = kind === 'lecture' ? most : Math.max(...used);
  }
  return heights;
}

/** Everything about a figure's places, for one size of screen. */
function makeTileLayout(model, settings) {
  const { kind, width } = settings;
  const board = boardPlaces(model, settings);
  const heights = panelPlaces(model, board, kind);
  const isStacked = kind === 'phone' || kind === 'narrow';
  const gridHeight = isStacked ? 560 : board.height - (settings.sideBelow || 0);
  return {
    kind,
    isPhone: kind === 'phone',
    isStacked,
    width,
    board,
    heights,
    grid: gridPlaces(model, board.side, gridHeight),
  };
}
