// The buttons, the speed, the hidden range behind the ticks, and the clock that plays.

const DWELL_MS = 900;
const RESCALE_MS = 1600;
const IDLE_RESCALE_MS = 600;
const SPEEDS = [0.5, 1, 2, 4, 8];

/** How long a step stays before the next one, at the given speed. */
function dwellOf(views, speed) {
  const dwell = Math.max(
    ...views.map((view) => {
      if (view.step.phase !== 'rescale') return DWELL_MS;
      return view.shrinks ? RESCALE_MS : IDLE_RESCALE_MS;
    }),
  );
  return dwell / speed;
}

/** Wire the transport's markup. `act(name, argument)` does what a button or key asks for. */
function makeTransport(root, act) {
  const find = (name) => root.querySelector(`[data-act="${name}"]`);
  const speeds = root.querySelector('.bwp-speeds');
  const range = root.querySelector('.bwp-range');
  const message = root.querySelector('.bwp-message');
  const field = root.querySelector('.bwp-address');
  const help = root.querySelector('.bwp-help');
  const play = find('toggle');
  const playLabel = play.querySelector('.bwp-play-label');
  const backward = ['first', 'block -1', 'step -1'].map(find);
  const forward = ['step 1', 'block 1', 'last'].map(find);
  const rescale = find('rescale');
  const speedOne = find('speed_next');
  const speedButtons = SPEEDS.map((speed) => {
    const button = html(speeds, 'button', 'bwp-speed', `${speed}\u00d7`);
    button.type = 'button';
    button.dataset.speed = speed;
    return button;
  });

  root.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.speed) act('speed', Number(button.dataset.speed));
    if (!button.dataset.act) return;
    const [name, argument] = button.dataset.act.split(' ');
    act(name, argument === undefined ? undefined : Number(argument));
  });
  // A click with the mouse leaves the focus where it was, so that Space still means Play.
  root.addEventListener('mousedown', (event) => {
    if (event.target.closest('.bwp-transport button')) event.preventDefault();
  });
  range.addEventListener('input', () => act('seek', Number(range.value)));

  return {
    message,
    field,
    help,
    /** Print every label in the language of the value. */
    translate(words) {
      for (const node of root.querySelectorAll('[data-say]'))
        setText(node, words.say(node.dataset.say));
      for (const node of root.querySelectorAll('[data-label]')) {
        const label = words.say(node.dataset.label);
        node.setAttribute('aria-label', label);
        if (node.tagName === 'BUTTON') node.title = label;
      }
      message.textContent = '';
      field.hidden = true;
    },
    set(words, { index, count, isPlaying, speed, valueText, hasRescale }) {
      const last = String(Math.max(0, count - 1));
      if (range.max !== last) range.max = last;
      range.value = String(index);
      range.setAttribute('aria-valuetext', valueText);
      play.classList.toggle('bwp-is-playing', isPlaying);
      setText(playLabel, words.say(isPlaying ? 'player.pause' : 'player.play'));
      for (const button of backward) button.disabled = index === 0;
      for (const button of forward) button.disabled = index >= count - 1;
      rescale.disabled = !hasRescale;
      for (const button of speedButtons) {
        button.setAttribute('aria-pressed', String(Number(button.dataset.speed) === speed));
      }
      setText(speedOne, `${speed}\u00d7`);
    },
  };
}

/** A clock that asks for the next step after each one's dwell. */
function makeClock(onTick) {
  let timer = 0;
  return {
    start(ms) {
      clearTimeout(timer);
      timer = setTimeout(onTick, ms);
    },
    stop() {
      clearTimeout(timer);
      timer = 0;
    },
    isRunning: () => timer !== 0,
  };
}
