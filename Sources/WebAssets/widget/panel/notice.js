// Notices of unread messages while the chat is not seen: a number in the page's title, and a short
// tone.

/**
 * The page may change its title too, so this changes the number only.
 * @param {number} unread 0 removes the number
 */
export function title(unread) {
  const text = (unread ? `(${unread}) ` : '') + document.title.replace(/^\(\d+\)\s/, '');
  if (document.title !== text) document.title = text;
}

/** @type {AudioContext | undefined} */
let audio;

/** Browsers allow sound only after the visitor has used the page. */
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
