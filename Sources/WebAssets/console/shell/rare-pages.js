// The pages that few operators open, and seldom: a file of their own, which is loaded when it is
// needed. It has its own copy of the modules that it shares with the console, so the console is one
// file; nothing but what `Pages` passes is common to both.

import './icons.js';
import './rare-icons.js';

export { analytics } from '../analytics/analytics.js';
export { assist } from '../assist/assist.js';
export { settings } from '../settings/settings.js';
export { MergeDialog } from '../visitor/merge.js';
export { visitors } from '../visitors/visitors.js';
export { enrolmentGate } from './enrolment.js';
export { forgotten } from './forgotten.js';
export { help } from './help.js';
export { choosePassword } from './own-password.js';
export { rest } from './rest.js';

/** The version of the sources, see `Pages`. */
export const build = BUILD;
