/**
 * A stand-in for the editor that works: views, pickers and documents that a test looks at and
 * answers. It proves that the parts are joined; how they look and feel only the real one can tell.
 */

/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-assignment,
   @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-call,
   @typescript-eslint/no-unsafe-return, @typescript-eslint/no-unsafe-argument */

import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '..');
export const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

class EventEmitter {
  private readonly listeners = new Set<(value: any) => void>();
  readonly event = (listener: (value: any) => void) => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };
  fire(value?: any): void {
    [...this.listeners].forEach((listener) => listener(value));
  }
  dispose(): void {
    this.listeners.clear();
  }
}

class Uri {
  constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query = '',
  ) {}
  static from(parts: any): Uri {
    return new Uri(parts.scheme, parts.path, parts.query);
  }
  static joinPath(uri: Uri, ...names: string[]): Uri {
    return new Uri(uri.scheme, join(uri.path, ...names));
  }
  static file(path: string): Uri {
    return new Uri('file', path);
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}:${this.path}${this.query ? `?${this.query}` : ''}`;
  }
}

class TreeItem {
  constructor(
    public label: string,
    public collapsibleState = 0,
  ) {}
}

class ThemeIcon {
  constructor(
    readonly id: string,
    readonly color?: any,
  ) {}
}

class ThemeColor {
  constructor(readonly id: string) {}
}

class Range {
  constructor(readonly line: number) {}
}

class Document {
  constructor(
    readonly uri: Uri,
    public text: string,
  ) {}
  getText(): string {
    return this.text;
  }
  get lineCount(): number {
    return this.text.split('\n').length;
  }
}

/** A page in the editor area: what it was told, and what it says. */
export class Page {
  readonly told: any[] = [];
  private readonly says = new EventEmitter();
  private readonly disposed = new EventEmitter();
  readonly panel = {
    title: '',
    visible: true,
    reveal: () => undefined,
    onDidChangeViewState: new EventEmitter().event,
    onDidDispose: this.disposed.event,
    webview: {
      cspSource: '',
      asWebviewUri: (uri: Uri) => uri,
      onDidReceiveMessage: this.says.event,
      postMessage: (told: any) => Promise.resolve(this.told.push(told) > 0),
    },
  };

  say(what: any): void {
    this.says.fire(what);
  }

  close(): void {
    this.disposed.fire();
  }
}

/** What stands in the tree of a view, as VS Code asks for it. */
export interface Drawn {
  node: any;
  item: any;
  inside: Drawn[];
}

export class Editor {
  readonly commands = new Map<string, (...given: any[]) => any>();
  readonly keys = new Map<string, unknown>();
  readonly views = new Map<string, any>();
  settings = new Map<string, unknown>();
  readonly said: string[] = [];
  readonly warnings: { sentence: string; steps: string[] }[] = [];
  readonly pickers: { items: any[]; options: any }[] = [];
  readonly terminals: any[] = [];
  readonly problems = new Map<string, { range: any; message: string }[]>();
  readonly pages: Page[] = [];
  readonly documents: Document[] = [];
  /** What VS Code keeps for this folder, and for all windows. */
  readonly state = new Map<string, unknown>();
  common = new Map<string, unknown>();
  statusItem: any;
  isTrusted = true;
  clipboard = '';
  shown: Document | undefined;
  /** Takes a choice of what is asked; by default nothing is chosen. */
  choose: (items: any[], options: any) => any = () => undefined;
  type: (options: any) => string | undefined | Promise<string> = () => undefined;
  press: (sentence: string, steps: string[]) => string | undefined | Promise<string> = () =>
    undefined;
  /** What happens while something takes its time. */
  meanwhile: () => unknown = () => undefined;
  /** What the extension gave back. */
  exports: any;

  private readonly closed = new EventEmitter();
  private readonly subscriptions: { dispose(): unknown }[] = [];
  private readonly contents = new Map<string, any>();
  private untitled = 0;

  constructor(private readonly folder: string) {}

  /** Loads the bundled extension and activates it. */
  activate(): any {
    const load = (Module as any)._load;
    (Module as any)._load = (name: string, ...rest: any[]) =>
      name === 'vscode' ? this.api() : load.call(Module, name, ...rest);
    const file = join(ROOT, 'dist', 'extension.js');
    const require = createRequire(join(ROOT, 'package.json'));
    delete require.cache[file];
    const memory = (map: Map<string, unknown>) => ({
      get: (key: string) => map.get(key),
      update: (key: string, value: unknown) => {
        map.set(key, value);
        return Promise.resolve();
      },
    });
    try {
      this.exports = require(file).activate({
        subscriptions: this.subscriptions,
        workspaceState: memory(this.state),
        globalState: memory(this.common),
        extensionUri: Uri.file(ROOT),
        extension: { id: 'pisessiond.pisession', packageJSON: MANIFEST },
      });
      return this.exports;
    } finally {
      (Module as any)._load = load;
    }
  }

  /** Closes the window. */
  close(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** Closes the document at hand. */
  async closeShown(): Promise<void> {
    await this.execute('workbench.action.revertAndCloseActiveEditor', []);
  }

  async run(command: string, ...given: any[]): Promise<void> {
    await this.commands.get(`pisessiond.${command}`)?.(...given);
  }

  /** What a view is told to draw anew from now on; undefined: all of it. */
  refreshes(id: string): unknown[] {
    const told: unknown[] = [];
    this.views.get(id).provider.onDidChangeTreeData((node: unknown) => told.push(node));
    return told;
  }

  /** A view as it would be drawn, with what is open. */
  async draw(id: string, node?: any): Promise<Drawn[]> {
    const provider = this.views.get(id).provider;
    const nodes: any[] = await provider.getChildren(node);
    return Promise.all(
      nodes.map(async (one) => {
        const item = provider.getTreeItem(one);
        return {
          node: one,
          item,
          inside: item.collapsibleState === 2 ? await this.draw(id, one) : [],
        };
      }),
    );
  }

  private api(): any {
    return {
      EventEmitter,
      Uri,
      TreeItem,
      ThemeIcon,
      ThemeColor,
      Range,
      TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
      languages: {
        createDiagnosticCollection: () => ({
          set: (uri: Uri, all: any[]) => this.problems.set(uri.path, all),
          clear: () => this.problems.clear(),
          dispose: () => undefined,
        }),
      },
      Diagnostic: class {
        constructor(
          readonly range: any,
          readonly message: string,
        ) {}
      },
      DiagnosticSeverity: { Warning: 1 },
      FileType: { File: 1 },
      FilePermission: { Readonly: 1 },
      FileChangeType: { Changed: 1 },
      FileSystemError: { NoPermissions: (sentence: string) => new Error(sentence) },
      ViewColumn: { Active: -1, Beside: -2 },
      StatusBarAlignment: { Left: 1, Right: 2 },
      ProgressLocation: { Notification: 15 },
      WorkspaceEdit: class {
        edits: any[] = [];
        replace(uri: Uri, _range: unknown, text: string): void {
          this.edits.push({ uri, text });
        }
      },
      commands: {
        registerCommand: (name: string, run: any) => {
          this.commands.set(name, run);
          return { dispose: () => this.commands.delete(name) };
        },
        executeCommand: (name: string, ...given: any[]) => this.execute(name, given),
      },
      env: {
        clipboard: {
          writeText: (text: string) => {
            this.clipboard = text;
            return Promise.resolve();
          },
        },
      },
      window: this.window(),
      workspace: this.workspace(),
    };
  }

  private execute(name: string, given: any[]): any {
    if (name === 'setContext') {
      this.keys.set(given[0], given[1]);
    } else if (name === 'workbench.action.revertAndCloseActiveEditor' && this.shown) {
      this.documents.splice(this.documents.indexOf(this.shown), 1);
      this.closed.fire(this.shown);
      this.shown = undefined;
    } else if (name === 'vscode.diff') {
      return Promise.all([this.open(given[0]), this.open(given[1])]);
    } else {
      return this.commands.get(name)?.(...given);
    }
  }

  private window(): any {
    const none = new EventEmitter();
    const active = () => this.shown && { document: this.shown };
    return {
      createOutputChannel: () => ({
        info: () => undefined,
        show: () => undefined,
        dispose: () => undefined,
      }),
      createStatusBarItem: (id: string) => {
        this.statusItem = {
          id,
          show: () => undefined,
          hide: () => undefined,
          dispose: () => undefined,
        };
        return this.statusItem;
      },
      createTreeView: (id: string, options: any) => {
        const [expanded, collapsed, visibility] = [1, 2, 3].map(() => new EventEmitter());
        const view = {
          provider: options.treeDataProvider,
          visible: true,
          selection: [] as any[],
          revealed: [] as any[],
          onDidExpandElement: expanded?.event,
          onDidCollapseElement: collapsed?.event,
          onDidChangeVisibility: visibility?.event,
          expand: (element: any) => expanded?.fire({ element }),
          reveal: (node: any, how: any) => {
            view.revealed.push(node);
            view.selection = how?.select ? [node] : view.selection;
            return Promise.resolve();
          },
          dispose: () => undefined,
        };
        this.views.set(id, view);
        return view;
      },
      createWebviewPanel: () => this.addPage().panel,
      registerWebviewPanelSerializer: () => ({ dispose: () => undefined }),
      registerFileDecorationProvider: () => ({ dispose: () => undefined }),
      onDidChangeWindowState: none.event,
      setStatusBarMessage: (sentence: string) => this.said.push(sentence),
      showQuickPick: (items: any[], options: any) => {
        this.pickers.push({ items, options });
        return Promise.resolve(this.choose(items, options));
      },
      showInputBox: (options: any) => Promise.resolve(this.type(options)),
      showWarningMessage: (sentence: string, ...steps: any[]) => this.warn(sentence, steps),
      showInformationMessage: (sentence: string, ...steps: any[]) =>
        Promise.resolve(this.press(sentence, steps)),
      withProgress: async (_options: any, work: any) => {
        const token = { onCancellationRequested: () => undefined };
        const done = work({ report: () => undefined }, token);
        await this.meanwhile();
        return done;
      },
      showTextDocument: (document: Document) => {
        this.shown = document;
        return Promise.resolve({ document });
      },
      createTerminal: (options: any) => {
        this.terminals.push(options);
        return { show: () => undefined };
      },
      get activeTextEditor(): any {
        return active();
      },
    };
  }

  private addPage(): Page {
    const page = new Page();
    this.pages.push(page);
    return page;
  }

  private warn(sentence: string, steps: any[]): Promise<string | undefined> {
    const names = steps.filter((step) => typeof step === 'string');
    this.warnings.push({ sentence, steps: names });
    return Promise.resolve(this.press(sentence, names));
  }

  private workspace(): any {
    const none = new EventEmitter();
    const folders = [{ uri: Uri.file(this.folder) }];
    return {
      workspaceFolders: folders,
      isTrusted: this.isTrusted,
      textDocuments: this.documents,
      getConfiguration: (section: string) => ({
        get: (key: string, fallback: unknown) => this.settings.get(`${section}.${key}`) ?? fallback,
      }),
      onDidChangeConfiguration: none.event,
      onDidGrantWorkspaceTrust: none.event,
      onDidCloseTextDocument: this.closed.event,
      registerFileSystemProvider: (scheme: string, files: any) => {
        this.contents.set(scheme, {
          provideTextDocumentContent: (uri: Uri) => files.readFile(uri).toString(),
        });
        return { dispose: () => undefined };
      },
      registerTextDocumentContentProvider: (scheme: string, provider: any) => {
        this.contents.set(scheme, provider);
        return { dispose: () => undefined };
      },
      openTextDocument: (what: any) => this.open(what),
      applyEdit: (edit: any) => {
        for (const { uri, text } of edit.edits) {
          const document = this.documents.find((one) => one.uri.toString() === uri.toString());
          if (document) {
            document.text = text;
          }
        }
        return Promise.resolve(true);
      },
    };
  }

  private async open(what: any): Promise<Document> {
    const text =
      what instanceof Uri
        ? await this.contents.get(what.scheme).provideTextDocumentContent(what)
        : what.content;
    const uri = what instanceof Uri ? what : new Uri('untitled', `Untitled-${++this.untitled}`);
    const document = new Document(uri, text);
    this.documents.push(document);
    return document;
  }
}
