/** The percent at a row's right end: a file decoration of an address that says all of it. */

import * as vscode from 'vscode';
import type { PaintedRow } from '../texts/paint';

const SCHEME = 'pisession-row';

/** An address of a row that changes with what its decoration shows, and with nothing else. */
export function rowUri(session: string, painted: PaintedRow): vscode.Uri {
  const query = new URLSearchParams({
    badge: painted.badge,
    grade: painted.grade,
    aside: painted.isAside ? 'yes' : 'no',
  });
  return vscode.Uri.from({
    scheme: SCHEME,
    path: `/${encodeURIComponent(session)}/${encodeURIComponent(painted.id)}`,
    query: query.toString(),
  });
}

const COLOURS: Record<string, string> = {
  warn: 'list.warningForeground',
  high: 'list.errorForeground',
};

export class RowDecorations implements vscode.FileDecorationProvider {
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== SCHEME) {
      return undefined;
    }
    const shown = new URLSearchParams(uri.query);
    const badge = shown.get('badge') ?? '';
    // Rows aside have a faint icon and plain text: of a fainter one VS Code would leave their
    // times and badges, which it thins out itself, three parts to one of contrast.
    const isAside = shown.get('aside') === 'yes';
    const colour = isAside ? undefined : COLOURS[shown.get('grade') ?? ''];
    if (badge === '' && colour === undefined) {
      return undefined;
    }
    return {
      ...(badge === ''
        ? {}
        : { badge, tooltip: `context ${badge === '!!' ? 'full' : `${badge} %`}` }),
      ...(colour === undefined ? {} : { color: new vscode.ThemeColor(colour) }),
      propagate: false,
    };
  }
}
