// The emoji of the picker, by kind: each with its Unicode name and other words to find it by.
// Systems of 2018 can draw all of them.

import { t } from '../shell/language.js';

/** @typedef {{emoji: string, name: string, words: string[]}} Emoji */

/**
 * @param {string} name
 * @param {string} lines one emoji a line
 */
const kind = (name, lines) => ({
  name,
  all: lines.trim().split('\n').map((line) => {
    const [emoji, ...rest] = line.trim().split(' ');
    const words = rest.join(' ').split(', ');
    return { emoji, name: words[0], words };
  }),
});

export const kinds = [
  kind(t('Smileys'), `
    🙂 slightly smiling face, smile
    😀 grinning face, happy
    😄 grinning face with smiling eyes, laugh, glad
    😊 smiling face with smiling eyes, blush, pleased
    😉 winking face, wink
    😅 grinning face with sweat, phew, relief
    😂 face with tears of joy, lol, funny
    😍 smiling face with heart-eyes, love
    😎 smiling face with sunglasses, cool
    🤩 star-struck, wow, amazed
    🤗 hugging face, hug
    🤔 thinking face, hmm
    😮 face with open mouth, surprised, oh
    😬 grimacing face, awkward, oops
    😕 confused face, unsure
    😟 worried face
    😔 pensive face, sorry
    😢 crying face, sad
    👀 eyes, look, looking`),
  kind(t('Gestures'), `
    👍 thumbs up, yes, agree, like
    👎 thumbs down, no, dislike
    👌 OK hand, perfect
    👋 waving hand, hello, hi, bye
    🙏 folded hands, please, thanks, thank you
    👏 clapping hands, applause, bravo
    🙌 raising hands, hooray
    🤝 handshake, deal
    💪 flexed biceps, strong
    🤞 crossed fingers, luck, hope
    ✌️ victory hand, peace
    ☝️ index pointing up, one
    👆 backhand index pointing up, above
    👇 backhand index pointing down, below
    👉 backhand index pointing right, this
    ✍️ writing hand, write`),
  kind(t('Celebration'), `
    ❤️ red heart, love
    💚 green heart
    💙 blue heart
    🎉 party popper, congratulations, hooray
    🎂 birthday cake
    🎁 wrapped gift, present
    🎈 balloon
    💐 bouquet, flowers
    ✨ sparkles, new
    ⭐ star, rating
    🌟 glowing star
    🔥 fire, hot
    💯 hundred points, perfect
    🏆 trophy, winner
    🚀 rocket, fast
    🍀 four leaf clover, luck
    ☀️ sun, sunny
    ☕ hot beverage, coffee, tea`),
  kind(t('Symbols'), `
    ✅ check mark button, done, yes
    ❌ cross mark, no, wrong
    ⚠️ warning, careful
    ❗ red exclamation mark, important
    ❓ red question mark
    ℹ️ information, info
    💡 light bulb, idea, tip
    🆕 NEW button
    🔄 counterclockwise arrows button, again, retry
    ➡️ right arrow, next
    ⬅️ left arrow, back
    ⬆️ up arrow, above
    ⬇️ down arrow, below
    🔴 red circle
    🔵 blue circle
    ⏳ hourglass not done, wait
    ⏰ alarm clock, time`),
  kind(t('Objects'), `
    📦 package, parcel, box
    🚚 delivery truck, shipping
    🛒 shopping cart, order
    💳 credit card, payment
    💰 money bag, refund, price
    📅 calendar, date
    📍 round pushpin, place, address
    🏠 house, home
    📧 e-mail, mail
    📞 telephone receiver, call, phone
    📱 mobile phone
    💻 laptop, computer
    📷 camera, photo, picture
    📎 paperclip, attachment
    📝 memo, note
    🔍 magnifying glass tilted left, search
    🔒 locked, secure
    🔑 key, password
    🔧 wrench, repair, fix`),
];

/** @type {Map<string, Emoji>} */
export const known = new Map(kinds.flatMap(({ all }) => all.map((it) => [it.emoji, it])));

/**
 * The form in which names are compared.
 * @param {string} text
 */
export const plain = (text) => text.toLowerCase().replace(/[-_]/g, ' ');

const NO_MATCH = 9;

/**
 * The emoji that match: first by the beginning of the name, then by a later word of it, then by
 * another word.
 * @param {string} text
 */
export function find(text) {
  const query = plain(text).trim();
  /** @param {Emoji} emoji */
  const rank = ({ words }) => {
    if (plain(words[0]).startsWith(query)) return 0;
    const at = words.findIndex((it) => ` ${plain(it)}`.includes(` ${query}`));
    return at < 0 ? NO_MATCH : Math.min(at, 1) + 1;
  };
  return [...known.values()].map((it) => ({ it, at: rank(it) }))
    .filter(({ at }) => at < NO_MATCH)
    .sort((a, b) => a.at - b.at)
    .map(({ it }) => it);
}
