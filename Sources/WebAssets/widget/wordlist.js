// What the widget says, by name. The texts are files in languages/, one for each language; the
// packer leaves only their texts, in the order of this list, and a name becomes its place.

/** @param {string} list @returns {Record<string, number>} */
const places = (list) => Object.fromEntries(list.split(/\s+/).map((name, place) => [name, place]));

/** `{}` stands for a name, a number or a time. The first ten are those of the thread. */
export const Word = places(`sending waiting unsure sent delivered read today you chat
  open unread close log message write send again
  closed here queued welcome away opens joined typing
  old full too_large rejected elsewhere not_sent send_here renew edit retry delete
  unavailable lost out stay reconnecting busy next keeps_nothing back
  place wait_about go_on
  optional name email before start leave_message leave failed thanks
  how bad poor fair good great better rate
  transcript menu`);
