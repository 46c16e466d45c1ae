// The icons of the pages that few operators open, see rare-pages.js.

import { paths } from '../../shared/dom.js';

Object.assign(paths, {
  bell: 'M5 13.5V9a5 5 0 0 1 10 0v4.5l1.5 1.5h-13L5 13.5zM8.3 17h3.4',
  chat: 'M4 4.5h12A1.5 1.5 0 0 1 17.5 6v7a1.5 1.5 0 0 1-1.5 1.5H9L5 17.5v-3H4A1.5 1.5 0 0 1 2.5 13V6A1.5 1.5 0 0 1 4 4.5z',
  copy: 'M8.5 7h6A1.5 1.5 0 0 1 16 8.5v6a1.5 1.5 0 0 1-1.5 1.5h-6A1.5 1.5 0 0 1 7 14.5v-6A1.5 1.5 0 0 1 8.5 7zM13 7V5A1.5 1.5 0 0 0 11.5 3.5H5A1.5 1.5 0 0 0 3.5 5v6.5A1.5 1.5 0 0 0 5 13h2',
  laptop: 'M5 4.5h10A1 1 0 0 1 16 5.5v7H4v-7a1 1 0 0 1 1-1zM2.5 15.5h15',
  lower: 'M10 4v11.5M5 10.7l5 4.8 5-4.8',
  phone: 'M7 2.75h6A1.25 1.25 0 0 1 14.25 4v12A1.25 1.25 0 0 1 13 17.25H7A1.25 1.25 0 0 1 5.75 16V4A1.25 1.25 0 0 1 7 2.75zM9 14.75h2',
});
