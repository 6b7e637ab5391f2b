/**
 * Documents that become something: a message to append, untitled so that closing it asks first, and
 * a summary to compact with, of which nothing is asked.
 */

import * as vscode from 'vscode';
import { DraftFiles, DRAFTS } from './draftFiles';
import { say } from './tools';

/** `prompt` is appended, `piPrompt` is given to a running pi. */
export type DraftKind = 'prompt' | 'piPrompt' | 'summary';

interface Draft {
  kind: DraftKind;
  /** Takes the text; the document is closed when it comes back, and stays when it throws. */
  send: (text: string) => Promise<void>;
}

export class Drafts implements vscode.Disposable {
  private readonly drafts = new Map<string, Draft>();
  /** Those that are on their way. */
  private readonly sending = new Set<Draft>();
  private readonly files = new DraftFiles();
  private readonly disposables: vscode.Disposable[];

  constructor() {
    this.disposables = [
      this.files,
      vscode.workspace.registerFileSystemProvider(DRAFTS, this.files, { isCaseSensitive: true }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        // A summary may be opened again; a prompt is gone.
        if (uri.scheme !== DRAFTS && this.drafts.delete(uri.toString())) {
          this.tell();
        }
      }),
    ];
  }

  dispose(): void {
    for (const one of this.disposables) {
      one.dispose();
    }
  }

  /** Opens a summary to be read and changed. */
  async openSummary(name: string, text: string, send: Draft['send']): Promise<void> {
    const document = await vscode.workspace.openTextDocument(this.files.add(name, text));
    await this.show(document, { kind: 'summary', send });
  }

  /** Opens the prompt with a text; one that holds another draft is replaced after a question. */
  async openPrompt(
    text: string,
    send: Draft['send'],
    kind: 'prompt' | 'piPrompt' = 'prompt',
  ): Promise<void> {
    const known = this.prompt(kind);
    if (known && text === '') {
      // Asked for anew, what is written goes to the session that is shown now.
      await this.show(known, { kind, send });
      return;
    }
    if (known && known.getText() !== text) {
      if (!(await this.mayReplace(known))) {
        await vscode.window.showTextDocument(known);
        return;
      }
      const edit = new vscode.WorkspaceEdit();
      edit.replace(known.uri, new vscode.Range(0, 0, known.lineCount, 0), text);
      await vscode.workspace.applyEdit(edit);
    }
    const document =
      known ?? (await vscode.workspace.openTextDocument({ language: 'markdown', content: text }));
    await this.show(document, { kind, send });
  }

  private async show(document: vscode.TextDocument, draft: Draft): Promise<void> {
    this.drafts.set(document.uri.toString(), draft);
    this.tell();
    await vscode.window.showTextDocument(document, { preview: false });
  }

  /**
   * Sends what stands in the editor at hand, once; refused, not a word of it is lost, nor of what
   * is written while it is on its way.
   */
  async send(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    const draft = document && this.drafts.get(document.uri.toString());
    if (!draft) {
      say('This is no draft of pi sessions.');
      return;
    }
    if (this.sending.has(draft)) {
      say('It is being sent.');
      return;
    }
    const text = document.getText();
    this.sending.add(draft);
    try {
      await draft.send(text);
    } finally {
      this.sending.delete(draft);
    }
    await this.sent(document, draft, text);
  }

  private async sent(document: vscode.TextDocument, draft: Draft, text: string): Promise<void> {
    const isOpen = !document.isClosed;
    if (isOpen && document.getText() !== text) {
      say('It was sent as it stood; what was written meanwhile is still here.');
      return;
    }
    const uri = document.uri.toString();
    // By now it may be another session's.
    if (this.drafts.get(uri) === draft) {
      this.drafts.delete(uri);
      this.tell();
      if (isOpen) {
        await vscode.window.showTextDocument(document);
        await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
      }
    }
  }

  private prompt(kind: DraftKind): vscode.TextDocument | undefined {
    return vscode.workspace.textDocuments.find(
      (document) => this.drafts.get(document.uri.toString())?.kind === kind,
    );
  }

  private async mayReplace(known: vscode.TextDocument): Promise<boolean> {
    if (known.getText().trim() === '') {
      return true;
    }
    const choice = await vscode.window.showInformationMessage(
      'There is a draft in the prompt.',
      'Keep My Draft',
      'Replace It',
    );
    return choice === 'Replace It';
  }

  /** For the buttons in the editors' title. */
  private tell(): void {
    for (const [kind, key] of [
      ['prompt', 'prompts'],
      ['piPrompt', 'piPrompts'],
      ['summary', 'summaries'],
    ] as const) {
      const uris = [...this.drafts].filter(([, draft]) => draft.kind === kind).map(([uri]) => uri);
      void vscode.commands.executeCommand('setContext', `pisessiond.${key}`, uris);
    }
  }
}
