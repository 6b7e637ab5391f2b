/** The graphs that are open: one for each session, also after the window was loaded anew. */

import * as vscode from 'vscode';
import { isSameSession, type Named } from '../model/identity';
import type { EntryId } from '../model/wire';
import type { Kept } from './messages';
import { GraphPanel, VIEW, type Surroundings } from './panel';

export class Graphs implements vscode.WebviewPanelSerializer, vscode.Disposable {
  private readonly open = new Set<GraphPanel>();
  private readonly registered: vscode.Disposable;

  constructor(private readonly around: Surroundings) {
    this.registered = vscode.window.registerWebviewPanelSerializer(VIEW, this);
  }

  dispose(): void {
    this.registered.dispose();
    this.open.forEach((graph) => graph.close());
    this.open.clear();
  }

  /** Shows a session's graph, with an entry in sight. */
  show(which: Named, entry: EntryId | 'here'): void {
    const graph = this.find(which) ?? this.add(this.create(), which);
    graph.reveal(entry);
  }

  deserializeWebviewPanel(panel: vscode.WebviewPanel, kept: unknown): Promise<void> {
    const { session, path } = (kept ?? {}) as Partial<Kept>;
    const which = { session: session ?? '', path: typeof path === 'string' ? path : null };
    if (typeof session === 'string' && !this.find(which)) {
      this.add(panel, which);
    } else {
      panel.dispose();
    }
    return Promise.resolve();
  }

  private find(which: Named): GraphPanel | undefined {
    return [...this.open].find((graph) => isSameSession(graph.which, which));
  }

  private create(): vscode.WebviewPanel {
    return vscode.window.createWebviewPanel(VIEW, 'Graph', vscode.ViewColumn.Active);
  }

  private add(panel: vscode.WebviewPanel, which: Named): GraphPanel {
    const graph = new GraphPanel(panel, which, this.around);
    const icon = (name: string) => vscode.Uri.joinPath(this.around.folder, 'media', name);
    panel.iconPath = { light: icon('graph-light.svg'), dark: icon('graph-dark.svg') };
    this.open.add(graph);
    panel.onDidDispose(() => {
      this.open.delete(graph);
      graph.close();
    });
    return graph;
  }
}
