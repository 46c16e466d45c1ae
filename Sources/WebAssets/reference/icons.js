// The icons that only the reference has.

import { paths } from '../shared/dom.js';
import '../console/shell/icons.js';

Object.assign(paths, {
  key: 'M7 9.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM9.6 10.9L16.5 4M13.5 7l2 2',
  right: 'M8 4.5L13.5 10 8 15.5',
  send: 'M16.5 3.5L3.5 9l5 2.5 2.5 5z',
});
