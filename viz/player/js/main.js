// The player: takes the value, builds its figures, and draws any moment of it on request.

const TWEEN_MS = 240;
const RESCALE_TWEEN_MS = 480;

const stillness = window.matchMedia('(prefers-reduced-motion: reduce)');
const link = makeLink();
const clock = makeClock(() => playOn());
const transport = makeTransport(root, act);
let tween = makeTween([]);

/** The figures come as one string: the page copies a value piece by piece, and a trace has many. */
function unpack(value) {
  if (!value || !value.figures) return { figures: [] };
  const { figures } = value;
  return { ...value, figures: typeof figures === 'string' ? JSON.parse(figures) : figures };
}

/** Take a new value: stop, build what it needs, and go where it says. */
function load() {
  const value = unpack(props.value);
  const kept =
    app.value && value.keep_step && shapeOf(value) === shapeOf(app.value) ? app.index : null;
  pause();
  tween.finish();
  app.value = value;
  app.words = wordsOf(props.strings[value.lang] || props.strings.en);
  const models = value.figures.map(readFigure);
  app.timeline = makeTimeline(models);
  app.active = Math.min(app.active, Math.max(0, models.length - 1));
  root.classList.toggle('bwp-is-empty', models.length === 0);
  root.classList.toggle('bwp-is-pair', models.length > 1);
  root.classList.toggle(
    'bwp-is-tiles',
    models.some(({ isTiles }) => isTiles),
  );
  root.dataset.run = value.run || '';
  root.lang = value.lang === 'zh' ? 'zh-Hans' : 'en';
  app.figures = models.map((model, f) =>
    (model.isTiles ? makeTileFigure : makeFigure)(model, app.words, {
      titled: models.length > 1,
      onSeek: (index) => act('seek', momentOf(app.timeline, f, index)),
      onRow: (row, column) => act('follow', [row, column]),
    }),
  );
  stage.replaceChildren(...app.figures.map((figure) => figure.section));
  app.figures.forEach((figure, f) => listenForAttention(figure.section, f));
  tween = makeTween(app.figures);
  app.texts = null;
  app.signature = '';
  transport.translate(app.words);
  if (!models.length) return;
  app.index = clampIndex(kept ?? value.step);
  measure(true);
  link.set(value.link, app.index);
}

function shapeOf({ figures }) {
  return JSON.stringify(
    figures.map(({ algorithm, trace }) => [algorithm.name, trace.sizes, trace.steps.length]),
  );
}

function clampIndex(step) {
  const wanted = Number.isFinite(Number(step)) ? Math.round(Number(step)) : 0;
  return Math.max(0, Math.min(app.timeline.length - 1, wanted));
}

/** A row's figure or a grid's: what differs between them is asked for here. */
function readFigure(figure) {
  return figure.algorithm.grid ? readTileModel(figure) : readModel(figure);
}

function viewsAt({ indices }) {
  return app.figures.map(({ model }, f) =>
    model.isTiles ? tileViewAt(model, indices[f], app.chosen) : viewAt(model, indices[f]),
  );
}

function placeOfView(words, view) {
  if (view.model.isTiles) return tilePlace(words, view);
  return rowPlace(words, view);
}

/** The figure that is hovered or focused is the one whose formula and kernel are shown. */
function listenForAttention(section, f) {
  const attend = () => {
    if (app.active === f || app.figures.length < 2) return;
    app.active = f;
    buildTexts();
    render(app.index);
  };
  section.addEventListener('pointerenter', attend);
  section.addEventListener('focusin', attend);
  section.addEventListener('click', attend);
}

/** Draw moment `index`: everything on the page follows from (value, index) alone. */
function render(index) {
  const moment = app.timeline[index];
  const views = viewsAt(moment);
  app.figures.forEach((figure, f) => {
    const isDone = moment.done[f];
    figure.set(views[f], {
      isDone,
      position: moment.indices[f] + 1,
      count: figure.model.steps.length,
    });
  });
  for (const text of app.texts || []) text.set(views[app.active]);
  const { words } = app;
  const { step } = views[app.active];
  transport.set(words, {
    index,
    count: app.timeline.length,
    isPlaying: clock.isRunning(),
    speed: app.speed,
    valueText: `${placeOfView(words, views[app.active])}, ${phaseName(words, app.figures[app.active].model, step.phase)}`,
    hasRescale: app.figures.some(({ model }) => model.rises.length > 0),
  });
  return views;
}

/** Go to a moment; one step forward is joined to the last picture by a tween. */
function go(index, isSmooth = false) {
  tween.finish();
  app.index = clampIndex(index);
  const views = render(app.index);
  const isRescale = views.some((view) => view.shrinks);
  if (isSmooth && app.speed <= 2 && !stillness.matches)
    tween.run(isRescale ? RESCALE_TWEEN_MS : TWEEN_MS);
  else tween.finish();
  link.set(app.value.link, app.index);
  return views;
}

function setPlaying(isPlaying) {
  for (const { caption } of app.figures)
    caption.setAttribute('aria-live', isPlaying ? 'off' : 'polite');
}

function pause() {
  clock.stop();
  setPlaying(false);
}

function play() {
  if (app.index >= app.timeline.length - 1) go(0);
  setPlaying(true);
  const views = viewsAt(app.timeline[app.index]);
  clock.start(dwellOf(views, app.speed));
  render(app.index);
}

function playOn() {
  const isLast = app.index >= app.timeline.length - 2;
  if (!app.isShown || !root.isConnected) {
    pause();
    return;
  }
  if (isLast) pause();
  const views = go(app.index + 1, true);
  if (!isLast) clock.start(dwellOf(views, app.speed));
}

/** Do what a button or a key asks for; return whether there was anything to do. */
function act(name, argument) {
  if (!app.figures.length) return false;
  const models = app.figures.map(({ model }) => model);
  const moves = {
    first: () => go(0),
    last: () => go(app.timeline.length - 1),
    step: () => go(app.index + argument, argument > 0),
    block: () => go(visitStart(app.timeline, app.index, argument)),
    seek: () => go(argument),
    rescale: () => {
      const next = nextRescale(app.timeline, models, app.index);
      const found = next >= 0 ? next : nextRescale(app.timeline, models, 0);
      if (found >= 0) go(found);
    },
  };
  if (moves[name]) {
    pause();
    moves[name]();
    return true;
  }
  const settings = {
    toggle: () => (clock.isRunning() ? (pause(), render(app.index)) : play()),
    follow: () => follow(...argument),
    row: () => follow(viewsAt(app.timeline[app.index])[app.active].chosen.m + argument),
    speed: () => setSpeed(argument),
    speed_next: () => setSpeed(SPEEDS[(SPEEDS.indexOf(app.speed) + 1) % SPEEDS.length]),
    lecture: () => setLecture(!root.classList.contains('bwp-lecture')),
    help: () => transport.help.showModal(),
    close: () => transport.help.close(),
    copy: () => {
      link.write(); // of this step, not of one that was left a moment ago
      return copyAddress(transport.message, transport.field, app.words);
    },
  };
  if (name === 'leave') {
    if (!root.classList.contains('bwp-lecture')) return false;
    setLecture(false);
    return true;
  }
  if (name === 'row' && !models.some((model) => model.isTiles)) return false;
  settings[name]();
  return true;
}

/** Follow another row of the tile, and column where one is given: the formula's numbers are its. */
function follow(row, column) {
  const view = viewsAt(app.timeline[app.index])[app.active];
  const last = Math.max(0, (view.extents ? view.extents.m : 1) - 1);
  app.chosen = { ...app.chosen, m: Math.max(0, Math.min(last, row ?? app.chosen.m)) };
  if (column !== undefined) app.chosen.n = column;
  render(app.index);
  tween.finish();
}

function setSpeed(speed) {
  app.speed = speed;
  if (clock.isRunning()) play();
  else render(app.index);
}

function setLecture(isOn) {
  root.classList.toggle('bwp-lecture', isOn);
  measure(false);
}

listenForKeys(root, act, () => app.isShown);
new ResizeObserver(() => measure(false)).observe(root);
window.addEventListener('resize', () => measure(false));
listenForTheme(() => {
  if (app.figures.some(({ model }) => model.isTiles)) measure(true);
});
watch('value', load);
load();
