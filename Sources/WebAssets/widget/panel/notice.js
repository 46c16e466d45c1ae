// How the page tells that something is unread while nobody looks at the chat: a number in its
// title, a short tone.

/**
 * The page may change its title meanwhile, so only our part of it is touched.
 * @param {any} unread
 */
export function title(unread) {
  const told = (unread ? `(${unread}) ` : '') + document.title.replace(/^\(\d+\)\s/, '');
  if (document.title !== told) document.title = told;
}

let audio;

/** Browsers allow it once somebody has used the page; before, they would only complain. */
export function tone() {
  if (!navigator.userActivation?.hasBeenActive) return;
  audio ??= new AudioContext();
  const source = audio.createOscillator();
  const volume = audio.createGain();
  const end = audio.currentTime + 0.3;
  volume.gain.value = 0.06;
  volume.gain.linearRampToValueAtTime(0, end);
  source.connect(volume).connect(audio.destination);
  source.start();
  source.stop(end);
}
