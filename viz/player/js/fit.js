// Fit the drawings to the room there is: columns, phone, lecture, and the height of the screen.

const PHONE_BELOW = 640;
const TWO_COLUMNS_FROM = 880;
const LECTURE_ZOOM = 1.4;
const LECTURE_PADDING = 64;
const BUTTONS_HEIGHT = 58;
const WORDS_HEIGHT = 84;

/** Fit the drawings to the room there is. */
function measure(isNew) {
  const isLecture = root.classList.contains('bwp-lecture');
  const width = root.clientWidth - (isLecture ? LECTURE_PADDING : 0);
  app.isShown = width > 0;
  if (!app.isShown || !app.figures.length) return;
  const isPhone = width < PHONE_BELOW;
  const isPair = app.figures.length > 1;
  const twoColumns = width >= TWO_COLUMNS_FROM && !isLecture;
  const textWidth = Math.round(Math.max(330, Math.min(480, width * 0.319)));
  const gap = width < 1100 ? 24 : 32;
  const unit = isLecture && !isPhone ? LECTURE_ZOOM : 1;
  const figureWidth = Math.floor((twoColumns ? width - textWidth - gap : width) / unit);
  root.style.setProperty('--bw-text', `${textWidth}px`);
  root.style.setProperty('--bw-gap', `${gap}px`);
  const formulaWidth = twoColumns ? textWidth : width;
  root.style.setProperty(
    '--bw-formula',
    `${Math.max(13, Math.min(isPhone ? 16 : 17, Math.floor((formulaWidth - 16) / 23.5)))}px`,
  );
  const kind = isPhone ? 'phone' : isPair ? 'stacked' : isLecture ? 'lecture' : 'wide';
  const factor = isPhone || isPair ? 1 : fitFactor(kind, unit);
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

/** How much taller or lower the panels must be for the whole player to end at the screen's foot. */
function fitFactor(kind, unit) {
  const isLecture = kind === 'lecture';
  const top = isLecture ? 12 : root.getBoundingClientRect().top + window.scrollY;
  const { model } = app.figures[0];
  const heightAt = (factor) => makeLayout(model, { width: 900, kind, factor }).height;
  const rigid = 2 * heightAt(0.5) - heightAt(1); // what a factor does not touch
  const fixed = WORDS_HEIGHT + historyHeight(model, kind) + ticksHeight(model) + rigid;
  const room = (window.innerHeight - top - BUTTONS_HEIGHT) / unit - fixed;
  const factor = room / (heightAt(1) - rigid);
  return Math.round(50 * Math.max(isLecture ? 0.6 : 0.72, Math.min(1.5, factor))) / 50;
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
  historyHost.replaceChildren();
  foot.replaceChildren();
  app.figures.forEach((figure, f) => {
    if (isPhone && f === app.active) {
      historyHost.append(figure.history);
      foot.append(figure.ticks);
    } else if (!isPhone) figure.section.append(figure.history, figure.ticks);
  });
}
