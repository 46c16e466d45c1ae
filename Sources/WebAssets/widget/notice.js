// How the page tells that something is unread while nobody looks at the chat: a number in its
// title, a short tone.

const COUNTED = /^\(\d+\)\s/;

/** The page may change its title meanwhile, so only our part of it is touched. */
export function title(unread) {
  const plain = document.title.replace(COUNTED, '');
  const told = unread ? `(${unread}) ${plain}` : plain;
  if (document.title !== told) document.title = told;
}

/** Browsers allow it once somebody has used the page; before, they would only complain. */
function tone() {
  if (!navigator.userActivation?.hasBeenActive) return;
  const audio = new AudioContext();
  const source = audio.createOscillator();
  const volume = audio.createGain();
  volume.gain.value = 0.06;
  volume.gain.linearRampToValueAtTime(0, audio.currentTime + 0.3);
  source.connect(volume).connect(audio.destination);
  source.onended = () => audio.close();
  source.start();
  source.stop(audio.currentTime + 0.3);
}
