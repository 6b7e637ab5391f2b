/** Read-only documents: entries as Markdown, dry runs, sides of a comparison. They are text, no page. */

import * as vscode from 'vscode';
import type { EntryId } from '../model/wire';
import { asFailure, Failure } from '../rpc/failure';
import { markdown } from '../texts/entries';
import { cleanLine, cut } from '../texts/plain';
import type { CurrentSession } from './current';

export const SCHEME = 'pisession';

export class Documents implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  /** Those that could not be read; they are when their session is shown. */
  private readonly unread = new Map<string, vscode.Uri>();
  private number = 0;
  private readonly closed: vscode.Disposable;
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  constructor(private readonly current: CurrentSession) {
    this.closed = vscode.workspace.onDidCloseTextDocument((document) => {
      this.texts.delete(document.uri.path);
      this.unread.delete(document.uri.toString());
    });
    current.on(({ what }) => {
      if (what === 'switched' || what === 'reset') {
        this.readAgain();
      }
    });
  }

  dispose(): void {
    this.closed.dispose();
    this.changed.dispose();
  }

  private readAgain(): void {
    const uris = [...this.unread.values()];
    this.unread.clear();
    uris.forEach((uri) => this.changed.fire(uri));
  }

  /** An address of a text, which is forgotten when its last editor is closed. */
  add(title: string, text: string): vscode.Uri {
    const path = `/text/${++this.number}/${fileName(title)}`;
    this.texts.set(path, text);
    return vscode.Uri.from({ scheme: SCHEME, path });
  }

  /** An address of an entry, which holds over restarts; `session` is the key of its model. */
  entryUri(session: string, entry: EntryId, title: string): vscode.Uri {
    return vscode.Uri.from({
      scheme: SCHEME,
      path: `/entry/${fileName(title)}`,
      query: new URLSearchParams({ session, entry: JSON.stringify(entry) }).toString(),
    });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    if (uri.path.startsWith('/text/')) {
      return this.texts.get(uri.path) ?? 'This was made for one look; ask for it again.\n';
    }
    try {
      return await this.readEntry(new URLSearchParams(uri.query));
    } catch (error) {
      this.unread.set(uri.toString(), uri);
      return `${cleanLine(asFailure(error).message)}\n`;
    }
  }

  /** @throws {Failure} why it cannot be read now */
  private async readEntry(asked: URLSearchParams): Promise<string> {
    const model = this.current.model;
    if (!model?.key || asked.get('session') !== model.key) {
      throw new Failure(
        'SessionNotFound',
        'This entry belongs to a session that is not shown; open it under Sessions.',
      );
    }
    const entry = JSON.parse(asked.get('entry') ?? 'null') as EntryId;
    const answer = await model.request('session/entries', { ids: [entry] });
    return answer.entries.map((body) => markdown(body)).join('\n');
  }
}

/** Shown on the tab; nothing of it may look like a folder. */
function fileName(title: string): string {
  const name = cut(cleanLine(title).replace(/[\\/:*?"<>|#]/g, ' '), 40).trim();
  return `${name === '' ? 'entry' : name}.md`;
}

/** Shows a document without taking the focus from the rows, beside what is there where wanted. */
export async function showPreview(
  uri: vscode.Uri,
  takesFocus = false,
  viewColumn = vscode.ViewColumn.Active,
): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, {
    preview: true,
    preserveFocus: !takesFocus,
    viewColumn,
  });
}
