/** What the extension brings to VS Code: commands, settings, itself. */

import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import type { Exports } from '../../src/extension';
import { EXTENSION, folder, ready, until } from './inside';

interface Manifest {
  contributes: {
    commands: { command: string }[];
    menus: Record<string, { command: string }[]>;
    keybindings: { command: string; args?: { commands: string[] } }[];
    views: Record<string, { id: string }[]>;
  };
}

describe('the extension in VS Code', () => {
  let inside: Exports;
  const manifest = () => vscode.extensions.getExtension(EXTENSION)?.packageJSON as Manifest;

  before(async () => {
    inside = await ready();
  });

  it('is active, connected, and shows the newest session of the folder', () => {
    assert.equal(vscode.extensions.getExtension(EXTENSION)?.isActive, true);
    assert.equal(inside.connection.state, 'ready');
    assert.equal(inside.current.model?.info?.name, 'login-fix');
  });

  it('registers every command it contributes, and no other', async () => {
    const all = await vscode.commands.getCommands(true);
    const contributed = manifest().contributes.commands.map(({ command }) => command);
    const views = Object.values(manifest().contributes.views)
      .flat()
      .map(({ id }) => `${id}.`);
    const ours = all.filter((name) => name.startsWith('pisessiond.'));
    const own = ours.filter((name) => !views.some((view) => name.startsWith(view)));
    assert.deepEqual(own.sort(), contributed.sort());
  });

  it('names no command that VS Code does not have', async () => {
    const all = new Set(await vscode.commands.getCommands(true));
    const { keybindings, menus } = manifest().contributes;
    const named = [
      ...Object.values(menus)
        .flat()
        .map(({ command }) => command),
      ...keybindings.flatMap(({ command, args }) => [command, ...(args?.commands ?? [])]),
      ...[...JSON.stringify(manifest()).matchAll(/\(command:([\w.]+)\)/g)].map(([, name]) => name),
    ];
    assert.ok(named.length > 50);
    for (const name of named) {
      assert.ok(all.has(String(name)), `there is no command ${name}`);
    }
  });

  describe('its settings', () => {
    const place = () => join(folder(), '.vscode');
    const settings = () => vscode.workspace.getConfiguration('pisessiond');

    after(() => rmSync(place(), { recursive: true, force: true }));

    it('take no program from the folder, whoever wrote its settings', async () => {
      const program = settings().get('path');
      const told = {
        'pisessiond.path': '/tmp/evil',
        'pisessiond.pi': '/tmp/evil',
        'pisessiond.thresholds': [11, 22],
      };
      mkdirSync(place());
      writeFileSync(join(place(), 'settings.json'), JSON.stringify(told));
      await until(() => settings().get<number[] | null>('thresholds')?.[0] === 11, 'the settings');
      assert.equal(settings().get('path'), program);
      assert.equal(settings().get('pi'), 'pi');
      assert.equal(settings().inspect('path')?.workspaceValue, undefined);
    });

    it('cannot be written there either', async () => {
      await assert.rejects(async () =>
        settings().update('path', '/tmp/evil', vscode.ConfigurationTarget.Workspace),
      );
    });
  });
});
