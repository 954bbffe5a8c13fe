// What the whole player shares: the places in its markup, and the state that a viewer can change.

const root = element.querySelector('.bw-player');
const stage = root.querySelector('.bwp-figures');
const textColumn = root.querySelector('.bwp-text');
const foot = root.querySelector('.bwp-foot-ticks');

const app = {
  value: null, // what the server sent
  words: null, // the lookups of its language
  figures: [],
  texts: null, // the parts of the text column, for the active figure
  timeline: [],
  index: 0, // the moment on screen
  chosen: { m: null, n: 0 }, // the row of the tile that is followed, once chosen, and the column
  active: 0, // the figure that is hovered or focused
  speed: 1,
  isShown: false, // whether the player takes up room: its tab is open
  signature: '', // the room that the drawings were made for
};
