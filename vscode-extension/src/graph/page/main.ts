/** Begins the page. */

import { GraphPage, type Editor } from './page';

declare function acquireVsCodeApi(): Editor;

new GraphPage(acquireVsCodeApi());
