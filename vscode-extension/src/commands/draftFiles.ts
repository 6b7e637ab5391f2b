/**
 * Files of drafts, which this window alone holds: no disk has them, so that closing one asks nothing
 * and leaves nothing behind. What was written stays until the window ends, for whoever opens the
 * closed editor again.
 */

import * as vscode from 'vscode';

export const DRAFTS = 'pisession-draft';
/** package.json gives what lies here a language whose documents are kept as one types. */
const FOLDER = '/pisession-summary';
/** Drafts that are held. */
const HELD = 20;

interface Held {
  bytes: Uint8Array;
  created: number;
  changed: number;
}

const GONE = 'This draft went with its window; Compact… makes another.\n';

export class DraftFiles implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly files = new Map<string, Held>();
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  private number = 0;

  dispose(): void {
    this.changed.dispose();
  }

  /** An address of a new draft; the one that was made longest ago is forgotten. */
  add(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({
      scheme: DRAFTS,
      path: `${FOLDER}/${++this.number}/${name.replace(/[\\/:*?"<>|#]/g, ' ')}.md`,
    });
    const now = Date.now();
    this.files.set(uri.path, { bytes: Buffer.from(text), created: now, changed: now });
    const [oldest] = this.files.keys();
    if (this.files.size > HELD && oldest !== undefined) {
      this.files.delete(oldest);
    }
    return uri;
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.files.get(uri.path)?.bytes ?? Buffer.from(GONE);
  }

  writeFile(uri: vscode.Uri, bytes: Uint8Array): void {
    const held = this.files.get(uri.path);
    if (!held) {
      throw vscode.FileSystemError.NoPermissions(GONE);
    }
    this.files.set(uri.path, { ...held, bytes, changed: Date.now() });
    this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const held = this.files.get(uri.path);
    return {
      type: vscode.FileType.File,
      ctime: held?.created ?? 0,
      mtime: held?.changed ?? 0,
      size: this.readFile(uri).byteLength,
      ...(held ? {} : { permissions: vscode.FilePermission.Readonly }),
    };
  }

  watch(): vscode.Disposable {
    return { dispose: () => undefined };
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  delete(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  rename(): never {
    throw vscode.FileSystemError.NoPermissions();
  }
}
