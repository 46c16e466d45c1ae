// The names of channels, the platforms beside the widget on which people write.

import { t } from './language.js';

/** @type {Record<string, string>} */
const NAMES = { line: 'LINE', telegram: 'Telegram' };

/** The channels to which the gateway sends: value and name. */
export const served = Object.entries(NAMES);

/**
 * Whether the gateway sends to this channel. Imported conversations may have come on any.
 * @param {string} channel
 */
export const isServed = (channel) => channel in NAMES;

/** @param {string} channel */
export const nameOfChannel = (channel) => (
  channel === 'web' ? t('Website') : NAMES[channel] ?? channel
);

/**
 * The name of a conversation's channel; '' for the widget.
 * @param {{channel?: string} | null | undefined} row
 */
export const channelOf = (row) => (
  !row?.channel || row.channel === 'web' ? '' : nameOfChannel(row.channel)
);
