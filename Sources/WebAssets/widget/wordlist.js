// What the widget says, by name. The texts are files in languages/, one for each language; the
// packer leaves only their texts, in the order of this list, and a name becomes its place.

/** @param {string} list @returns {Record<string, number>} */
const places = (list) => Object.fromEntries(list.split(/\s+/).map((name, place) => [name, place]));

/** `{}` stands for a name, a number or a time. The first eight are those of the thread. */
export const Word = places(`sending waiting unsure sent delivered read today you
  open unread close log message write send again
  closed here queued welcome away opens joined typing
  full too_large rejected send_here edit retry delete
  unavailable lost out stay reconnecting busy back
  place wait_about go_on
  optional name email start leave failed thanks
  how bad poor fair good great better
  transcript menu mute`);
