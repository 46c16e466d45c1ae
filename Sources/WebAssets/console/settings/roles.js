// The roles of members, by their names in the API.

import { t } from '../shell/language.js';

/** @type {Record<string, string>} */
export const ROLES = { agent: t('Agent'), admin: t('Administrator'), owner: t('Owner') };
