/** The theme's colours for lanes, made anew when the theme changes. */

import { readColour, standingOut, toCss, type Colour } from '../shape/colours';

/** By lane; the bundle is the last. Lanes that share a colour differ in their dash. */
const CHARTS = [
  'blue',
  'green',
  'orange',
  'purple',
  'red',
  'yellow',
  'blue',
  'green',
  'purple',
  'foreground',
];
const WHITE: Colour = [255, 255, 255];
const BLACK: Colour = [0, 0, 0];

/** Sets the colours now, and whenever the editor changes its theme. */
export function followTheme(changed: () => void): void {
  paint();
  const observer = new MutationObserver(() => {
    paint();
    changed();
  });
  observer.observe(document.body, { attributeFilter: ['class', 'data-vscode-theme-id'] });
}

function paint(): void {
  const { style } = document.documentElement;
  const read = (name: string, behind?: Colour) =>
    readColour(
      getComputedStyle(document.documentElement).getPropertyValue(`--vscode-${name}`),
      behind,
    );
  const isLight = /vscode-(light|high-contrast-light)/.test(document.body.className);
  const background = read('editor-background') ?? (isLight ? WHITE : BLACK);
  const foreground = read('editor-foreground', background) ?? (isLight ? BLACK : WHITE);
  CHARTS.forEach((name, lane) => {
    // Some are meant to be seen through; a lane's edge is not.
    const colour = read(`charts-${name}`) ?? foreground;
    style.setProperty(`--lane-${lane}`, toCss(standingOut(colour, background, foreground)));
  });
}
