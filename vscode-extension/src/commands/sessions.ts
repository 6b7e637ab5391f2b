/** Opening and making sessions. */

import * as vscode from 'vscode';
import { count, shortTime, todayOf } from '../texts/figures';
import { cleanLine, cut, withoutIcons } from '../texts/plain';
import { titleOf } from '../texts/sessions';
import type { ListedSession, SearchHit } from '../model/wire';
import { currentFolder } from '../views/current';
import type { SessionNode } from '../views/sessions';
import { say, type Command, type Desk } from './tools';

async function openListed(desk: Desk, one: ListedSession): Promise<void> {
  await desk.current.choose(
    one.path !== null && !one.unsaved ? { path: one.path } : { session: one.session },
  );
  await desk.tree.arrive();
}

/** The one that was clicked, else asks which. */
export const openSession: Command = async (desk, node) => {
  const given = node as SessionNode | undefined;
  if (given?.kind === 'family') {
    await openListed(desk, given.family.session);
    return;
  }
  await pick(desk, currentFolder());
};

/** Asks which of all folders. */
export const allSessions: Command = (desk) => pick(desk, undefined);

async function pick(desk: Desk, cwd: string | undefined): Promise<void> {
  const params = { cwd: cwd ?? null, limit: 500 };
  const { sessions } = await desk.connection.request('session/list', params);
  if (sessions.length === 0) {
    say('No pi session here yet. They appear when pi runs here.');
    return;
  }
  const items = sessions.map((one) => ({
    one,
    label: withoutIcons(cut(titleOf(one), 80)),
    description: `${shortTime(one.modified, todayOf())} · ${count(one.messages, 'message')}`,
    detail: cwd === undefined ? withoutIcons(cleanLine(one.cwd)) : undefined,
  }));
  const chosen = await vscode.window.showQuickPick(
    items.map(({ detail, ...item }) => (detail === undefined ? item : { ...item, detail })),
    { placeHolder: 'Session to open', matchOnDetail: true },
  );
  if (chosen) {
    await openListed(desk, chosen.one);
  }
}

/** Its file appears with the first answer. */
export const newSession: Command = async (desk) => {
  const cwd = currentFolder();
  if (cwd === undefined) {
    say('Open a folder first: a session belongs to one.');
    return;
  }
  const answer = await desk.connection.request('session/create', { cwd });
  await desk.current.choose({ session: answer.session });
  await vscode.commands.executeCommand('pisessiond.tree.focus');
};

export const moreSessions: Command = (desk, node) => desk.sessions.more(node as SessionNode);

export const refreshSessions: Command = (desk) => desk.sessions.refresh();

export const hideForks: Command = (desk) => desk.sessions.setHidesForks(true);
export const showForks: Command = (desk) => desk.sessions.setHidesForks(false);

/** Searches what was said in any session, and opens the one of the hit that is chosen. */
export const searchSessions: Command = async (desk) => {
  const query = await vscode.window.showInputBox({ prompt: 'Search in all sessions' });
  if (!query?.trim()) {
    return;
  }
  const { hits, pending } = await desk.connection.request('session/search', { query, limit: 100 });
  const unread = pending > 0 ? `; ${count(pending, 'session is', 'sessions are')} still read` : '';
  if (hits.length === 0) {
    say(`Nothing says that${unread}.`);
    return;
  }
  const chosen = await vscode.window.showQuickPick(hits.map(hitItem), {
    placeHolder: `${count(hits.length, 'hit')}${unread}`,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen) {
    const { path, session, entry } = chosen.hit;
    await desk.current.choose(path === null ? { session } : { path });
    await vscode.commands.executeCommand('pisessiond.tree.focus');
    await desk.tree.reveal(entry, true);
  }
};

function hitItem(hit: SearchHit): vscode.QuickPickItem & { hit: SearchHit } {
  const who = cleanLine(hit.tool ?? hit.role);
  const name = hit.name === null ? '' : `${cut(cleanLine(hit.name), 40)} · `;
  return {
    hit,
    label: withoutIcons(cleanLine(hit.snippet.text)),
    description: withoutIcons(`${who} · ${shortTime(hit.time, todayOf())}`),
    detail: withoutIcons(`${name}${cleanLine(hit.cwd)}`),
  };
}
