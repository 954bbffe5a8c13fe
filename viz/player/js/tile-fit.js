// Fit a figure of tiles to the room there is: the board's two sides, phone, lecture, two stacked.

const BOARD_LEAST = 380; // px: below it the page scrolls
const TILE_WORDS = 62; // px: eyebrow and a caption of one line
const CAPTION_LINE = 30; // px: a second line, where the caption often needs one
const TRAFFIC_HEIGHT = 122;
const KEPT_HEIGHT = 46; // px: what is kept from tile to tile is said where there is room
const TEXT_LINE = 1.42;
const TEXT_HEAD = 62; // px: the head, and the air around what runs
const TEXT_LEAST = 190; // px: the kernel's lines need some, however short the formula
const LECTURE_ZOOMS = [2, 1.7, 1.4, 1.2, 1];
const LECTURE_BOARD = { width: 900, height: 440 };

/** Fit every figure; a figure alone has its text inside the board, two share the text column. */
function measureTiles(width, { isPhone, isPair, isLecture, isNew }) {
  const isWide = !isPhone && width >= TWO_COLUMNS_FROM;
  const twoColumns = isPair && isWide && !isLecture;
  const textWidth = Math.round(Math.max(330, Math.min(480, width * 0.319)));
  const gap = width < 1100 ? 24 : 32;
  const room = tileRoom(isLecture);
  const figureRoom = room / (isPair && !isPhone ? 2 : 1);
  const unit = isLecture && !isPhone ? lectureZoom(width, figureRoom) : 1;
  const figureWidth = Math.floor((twoColumns ? width - textWidth - gap : width) / unit);
  const kind = isPhone
    ? 'phone'
    : isPair
      ? 'pair'
      : isLecture
        ? 'lecture'
        : isWide
          ? 'wide'
          : 'narrow';
  root.style.setProperty('--bw-text', `${textWidth}px`);
  root.style.setProperty('--bw-gap', `${gap}px`);
  root.style.setProperty('--bw-zoom', unit);
  const signature = ['tiles', figureWidth, unit, kind, Math.round(figureRoom), twoColumns].join(
    ' ',
  );
  if (!isNew && signature === app.signature) return;
  app.signature = signature;
  const wasPhone = root.classList.contains('bwp-phone');
  root.classList.toggle('bwp-phone', isPhone);
  root.classList.toggle('bwp-two-columns', twoColumns);
  if (!app.texts || wasPhone !== isPhone) buildTexts();
  tween.finish();
  for (const figure of app.figures) {
    const { model } = figure;
    const height = boardHeight(model, figureRoom / unit, {
      isPhone,
      isPair,
      kind,
      isTight: figureWidth < 1200,
    });
    const isAlone = kind === 'wide';
    const { size, textHeight } = tileText(model, height, isAlone, figureWidth);
    root.style.setProperty('--bw-formula', `${isPhone ? 15 : size}px`);
    const layout = makeTileLayout(model, {
      width: figureWidth,
      height,
      kind,
      textHeight: isAlone ? textHeight : 0,
      sideBelow: isAlone ? TRAFFIC_HEIGHT : 0,
    });
    const spare = height - layout.grid.height - TRAFFIC_HEIGHT;
    root.classList.toggle('bwp-has-room', !isAlone || spare > KEPT_HEIGHT);
    figure.build(layout, figureWidth, unit);
  }
  placeTileParts(isPhone);
  render(app.index);
}

/** The height from the player's top to the foot of the screen, buttons taken off. */
function tileRoom(isLecture) {
  const top = isLecture ? 12 : root.getBoundingClientRect().top + window.scrollY;
  return window.innerHeight - top - BUTTONS_HEIGHT;
}

function boardHeight(model, room, { isPhone, isPair, kind, isTight }) {
  if (isPhone) return 0;
  const second = kind === 'narrow' || kind === 'lecture' || isTight ? CAPTION_LINE : 0;
  const words = isPair ? PAIR_WORDS_HEIGHT + PAIR_GAP / 2 : TILE_WORDS + second;
  const left = room - words - tileTicksHeight(model, false);
  const least = isPair ? 250 : kind === 'lecture' ? 300 : BOARD_LEAST;
  return Math.max(least, left);
}

/** The size of the formula's type, and the height that text needs beside the grid. */
function tileText(model, height, isAlone, width) {
  const lines = tileFormulaLines(model);
  const half = ((1 - 0.298) * width - 60) / 2;
  const fits = (size) => lines * size * TEXT_LINE + TEXT_HEAD;
  const rows = Math.min(model.grid.rowBlock, model.grid.nRows);
  const wanted = model.panels.includes('rows')
    ? ROWS_HEAD +
      Math.min(rows, 8) * ROW_PITCH +
      (model.panels.includes('merge') ? MERGE_LEAST + PANEL_GAP : 0)
    : 220;
  const sizes = [17, 16, 15, 14, 13];
  const widest = Math.floor(half / 28);
  const size =
    sizes.find((one) => one <= widest && (!isAlone || fits(one) + wanted <= height)) || 13;
  return { size, textHeight: Math.max(TEXT_LEAST, fits(size)) };
}

function lectureZoom(width, room) {
  const found = LECTURE_ZOOMS.find(
    (zoom) => width / zoom >= LECTURE_BOARD.width && room / zoom >= LECTURE_BOARD.height,
  );
  return found || 1;
}

/** Put the text of the figure where this width wants it. */
function placeTileParts(isPhone) {
  const figure = app.figures[app.active];
  const find = (name) => root.querySelector(`.bwp-section.bwp-${name}`);
  const [update, kernel, traffic] = ['update', 'kernel', 'traffic'].map(find);
  const isInside = !isPhone && app.figures.length === 1 && root.clientWidth >= TWO_COLUMNS_FROM;
  if (isInside) {
    figure.textHost.replaceChildren(update, kernel);
    figure.sideHost.replaceChildren(traffic);
  } else textColumn.prepend(update, kernel, traffic);
  foot.replaceChildren();
  for (const one of app.figures) {
    if (isPhone && one === figure) foot.append(one.ticks);
    else if (!isPhone) one.section.append(one.ticks);
  }
}
