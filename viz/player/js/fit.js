// Fit the drawings to the room there is: columns, phone, lecture, and the height of the screen.

const PHONE_BELOW = 640;
const TWO_COLUMNS_FROM = 880;
const LECTURE_PADDING = 64;
const BUTTONS_HEIGHT = 58;
const WORDS_HEIGHT = 84;
const PAIR_WORDS_HEIGHT = 48;
const PAIR_GAP = 25;

/** How a figure may be drawn, best first: the first that fits the height of the screen is taken. */
const FITS = {
  wide: [
    { kind: 'wide', zoom: 1, least: 0.72 },
    { kind: 'compact', zoom: 1, least: 0.42 },
  ],
  lecture: [
    { kind: 'lecture', zoom: 2, least: 0.9 },
    { kind: 'lecture', zoom: 1.7, least: 0.9 },
    { kind: 'lecture', zoom: 1.4, least: 0.72 },
    { kind: 'compact', zoom: 1.4, least: 0.56 },
    { kind: 'compact', zoom: 1.3, least: 0.5 },
    { kind: 'compact', zoom: 1.2, least: 0.4 },
  ],
  lecture_pair: [
    { kind: 'brief', zoom: 1.4, least: 0.6 },
    { kind: 'brief', zoom: 1.2, least: 0.5 },
    { kind: 'brief', zoom: 1, least: 0.4 },
  ],
  pair: [
    { kind: 'stacked', zoom: 1, least: 0.8 },
    { kind: 'brief', zoom: 1, least: 0.5 },
  ],
};
const PHONE_FIT = { kind: 'phone', zoom: 1, factor: 1 };

/** Fit the drawings to the room there is. */
function measure(isNew) {
  const isLecture = root.classList.contains('bwp-lecture');
  const width = root.clientWidth - (isLecture ? LECTURE_PADDING : 0);
  app.isShown = width > 0;
  if (!app.isShown || !app.figures.length) return;
  const isPhone = width < PHONE_BELOW;
  const isPair = app.figures.length > 1;
  if (app.figures[0].model.isTiles) {
    measureTiles(width, { isPhone, isPair, isLecture, isNew });
    return;
  }
  const twoColumns = width >= TWO_COLUMNS_FROM && !isLecture;
  const textWidth = Math.round(Math.max(330, Math.min(480, width * 0.319)));
  const gap = width < 1100 ? 24 : 32;
  const pair = isLecture ? 'lecture_pair' : 'pair';
  const fits = FITS[isPair ? pair : isLecture ? 'lecture' : 'wide'];
  const { kind, zoom: unit, factor } = isPhone ? PHONE_FIT : bestFit(fits, isLecture);
  const figureWidth = Math.floor((twoColumns ? width - textWidth - gap : width) / unit);
  root.style.setProperty('--bw-text', `${textWidth}px`);
  root.style.setProperty('--bw-gap', `${gap}px`);
  const formulaWidth = twoColumns ? textWidth : width;
  root.style.setProperty(
    '--bw-formula',
    `${Math.max(13, Math.min(isPhone ? 16 : 17, Math.floor((formulaWidth - 16) / 23.5)))}px`,
  );
  root.style.setProperty('--bw-zoom', unit);
  const signature = [figureWidth, unit, kind, factor, twoColumns].join(' ');
  if (!isNew && signature === app.signature) return;
  app.signature = signature;
  const wasPhone = root.classList.contains('bwp-phone');
  root.classList.toggle('bwp-phone', isPhone);
  root.classList.toggle('bwp-two-columns', twoColumns);
  if (!app.texts || wasPhone !== isPhone) buildTexts();
  tween.finish();
  for (const figure of app.figures) {
    const layout = makeLayout(figure.model, { width: figureWidth, kind, factor });
    figure.build(layout, isPhone ? phoneTicks(layout, width) : layout, unit);
  }
  placeParts(isPhone);
  render(app.index);
}

/** The first way to draw that fits, and how much taller or lower its panels then are. */
function bestFit(fits, isLecture) {
  const found = fits.map((fit) => ({ ...fit, factor: fitFactor(fit, isLecture) }));
  const fit = found.find(({ factor, least }) => factor >= least) || found[found.length - 1];
  const isShort = app.figures.length === 1 && app.figures[0].model.panels.length < 3;
  const factor = Math.max(fit.least, Math.min(isShort ? 2.1 : 1.7, fit.factor));
  return { ...fit, factor: Math.floor(50 * factor) / 50 };
}

/** The factor with which the whole player, all its figures, would end at the screen's foot. */
function fitFactor({ kind, zoom }, isLecture) {
  const top = isLecture ? 12 : root.getBoundingClientRect().top + window.scrollY;
  const isPair = app.figures.length > 1;
  let fixed = isPair ? PAIR_GAP : 0;
  let flexible = 0;
  for (const { model } of app.figures) {
    const heightAt = (factor) => makeLayout(model, { width: 900, kind, factor }).height;
    const rigid = 2 * heightAt(0.5) - heightAt(1); // what a factor does not touch
    const words = isPair ? PAIR_WORDS_HEIGHT : WORDS_HEIGHT;
    fixed += words + historyHeight(model, kind) + ticksHeight(model) + rigid;
    flexible += heightAt(1) - rigid;
  }
  return ((window.innerHeight - top - BUTTONS_HEIGHT) / zoom - fixed) / flexible;
}

/** On a phone the ticks are as wide as the foot and have no gutter; the last steps need room. */
function phoneTicks(layout, width) {
  const { n, block } = layout.ruler;
  const hasRow = app.figures.some(({ model }) =>
    model.visits.some((visit) => visit.block === null),
  );
  const ruler = makeRuler({ left: 0, width: width - (hasRow ? 30 : 0), n, block, gap: 6 });
  return { ...layout, width, ruler };
}

/** Put history and ticks where this width wants them. */
function placeParts(isPhone) {
  const historyHost = textColumn.querySelector('.bwp-history-host');
  if (historyHost) historyHost.replaceChildren();
  foot.replaceChildren();
  app.figures.forEach((figure, f) => {
    if (isPhone && f === app.active) {
      if (historyHost) historyHost.append(figure.history);
      foot.append(figure.ticks);
    } else if (!isPhone) figure.section.append(figure.history, figure.ticks);
  });
}
