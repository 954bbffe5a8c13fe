// The keyboard. Keys act from anywhere on the page, except where they already mean something.

const SPEED_KEYS = { 1: 0.5, 2: 1, 3: 2, 4: 4, 5: 8 };

function isElsewhere(target, root) {
  if (
    !(target instanceof Element) ||
    target === document.body ||
    target === document.documentElement
  )
    return false;
  if (target.closest('input:not(.bwp-range), textarea, select, [contenteditable], dialog'))
    return true;
  return (
    !root.contains(target) &&
    Boolean(target.closest('button, a, [role="tab"], [tabindex], summary, label'))
  );
}

/** The action that a key press asks for, or null. */
function actionOf(event) {
  const { key, shiftKey } = event;
  if (SPEED_KEYS[key]) return ['speed', SPEED_KEYS[key]];
  switch (key) {
    case ' ':
      return ['toggle'];
    case 'ArrowRight':
      return [shiftKey ? 'block' : 'step', 1];
    case 'ArrowLeft':
      return [shiftKey ? 'block' : 'step', -1];
    case 'ArrowUp':
      return ['row', -1];
    case 'ArrowDown':
      return ['row', 1];
    case 'Home':
      return ['first'];
    case 'End':
      return ['last'];
    case 'r':
    case 'R':
      return ['rescale'];
    case 'l':
    case 'L':
      return ['lecture'];
    case '?':
      return ['help'];
    case 'Escape':
      return ['leave'];
    default:
      return null;
  }
}

/** Call `act` for every key that is meant for the player, while it is in view. */
function listenForKeys(root, act, isShown) {
  const onKey = (event) => {
    if (!root.isConnected) {
      document.removeEventListener('keydown', onKey);
      return;
    }
    if (!isShown() || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
      return;
    if (isElsewhere(event.target, root)) return;
    // A focused button or summary keeps its own Space.
    if (
      event.key === ' ' &&
      event.target instanceof Element &&
      event.target.closest('button, summary')
    )
      return;
    const action = actionOf(event);
    if (action && act(...action)) event.preventDefault();
  };
  document.addEventListener('keydown', onKey);
}
