/** Colours of lanes: those of the theme, made to stand out from its background where they do not. */

export type Colour = readonly [number, number, number];

/** Contrast that the edge of a lane has at least. */
export const EDGE = 3;

/** A colour as CSS tells a computed one (`#rrggbb`, `rgb(…)`, `rgba(…)`); undefined for others. */
export function readColour(text: string, behind?: Colour): Colour | undefined {
  const told = text.trim();
  const hex = /^#([0-9a-f]{3,8})$/i.exec(told)?.[1];
  const parts = hex ? fromHex(hex) : fromNumbers(told);
  if (!parts) {
    return undefined;
  }
  const [red, green, blue, alpha] = parts;
  const colour: Colour = [red, green, blue];
  return alpha < 1 && behind ? mix(behind, colour, alpha) : colour;
}

type Parts = [number, number, number, number];

function fromHex(hex: string): Parts | undefined {
  const digits = hex.length < 6 ? [...hex].map((one) => one + one).join('') : hex;
  if (digits.length !== 6 && digits.length !== 8) {
    return undefined;
  }
  const at = (place: number) => Number.parseInt(digits.slice(place, place + 2), 16);
  return [at(0), at(2), at(4), digits.length === 8 ? at(6) / 255 : 1];
}

function fromNumbers(told: string): Parts | undefined {
  const numbers = /^rgba?\(([^)]*)\)$/i
    .exec(told)?.[1]
    ?.split(/[\s,/]+/)
    .filter(Boolean);
  const [red, green, blue, alpha] = (numbers ?? []).map((one) =>
    one.endsWith('%') ? Number.parseFloat(one) / 100 : Number.parseFloat(one),
  );
  return red !== undefined && green !== undefined && blue !== undefined
    ? [red, green, blue, alpha ?? 1]
    : undefined;
}

/** From one colour towards another: `share` 1 is the other. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  const part = (at: 0 | 1 | 2) => Math.round(from[at] + (to[at] - from[at]) * share);
  return [part(0), part(1), part(2)];
}

function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** From 1 to 21, as WCAG reckons. */
export function contrast(one: Colour, other: Colour): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [
    number,
    number,
  ];
  return (light + 0.05) / (dark + 0.05);
}

/** The colour, or as little as is needed of the way from it to `towards` that it stands out. */
export function standingOut(
  colour: Colour,
  background: Colour,
  towards: Colour,
  least = EDGE,
): Colour {
  for (let share = 0; share < 1; share += 0.05) {
    const tried = mix(colour, towards, share);
    if (contrast(tried, background) >= least) {
      return tried;
    }
  }
  return towards;
}

export function toCss([red, green, blue]: Colour): string {
  return `rgb(${red}, ${green}, ${blue})`;
}
