// The address of this very step: kept in the browser's address bar, and copied on request.

const SETTLE_MS = 150;

/** Return `set(link, step)`, which writes the address once the step has settled, or at `write()`. */
function makeLink() {
  let timer = 0;
  let waiting = null; // what is not written yet
  let owned = []; // the parameters written last: one that the state no longer has must go
  function stop() {
    clearTimeout(timer);
    waiting = null;
  }
  function write() {
    if (!waiting) return;
    const { link, step } = waiting;
    stop();
    const url = new URL(window.location.href);
    for (const name of owned) url.searchParams.delete(name);
    owned = Object.keys(link);
    for (const [name, value] of Object.entries({ ...link, step })) {
      if (value === null || value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    if (url.href !== window.location.href)
      window.history.replaceState(window.history.state, '', url);
  }
  return {
    set(link, step) {
      stop();
      waiting = { link, step };
      timer = setTimeout(write, SETTLE_MS);
    },
    write,
    stop,
  };
}

/** Copy the address. Where the clipboard is refused, show it selected, to be copied by hand. */
async function copyAddress(message, field, words) {
  const address = window.location.href;
  try {
    await navigator.clipboard.writeText(address);
    field.hidden = true;
    message.textContent = words.say('player.link_copied');
  } catch {
    message.textContent = words.say('player.link_by_hand');
    field.hidden = false;
    field.value = address;
    field.focus();
    field.select();
  }
}
