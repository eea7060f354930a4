#!/usr/bin/env python3
"""Writes hot_functions.ld, the list of functions that the linker puts next to each other.

A run executes a sixth of the program's code, spread over all of it, and Linux maps 64 KiB around each page that is
touched. With the executed functions in one place, a run maps a third of what it mapped otherwise (docs/FIGURES.md).

The program is linked with a map of its functions, does a run of 50 tool calls, a chat with the demo and the start of a
server under callgrind. The functions that were executed come first, by their full names. The same names without hashes
follow: they match all instances of a generic function, and those whose hash is another one after a change of the code,
of libraries or of the compiler. A name without a hash is left out if it matches five times as much code as was executed.

Nothing breaks by an old list: names that do not exist are ignored, and functions that are missing stay where they are.

    python3 apps/agentx/link/record.py      # needs valgrind, tmux and 15 minutes
"""
import bisect
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
LIST = HERE / 'hot_functions.ld'
# How much code may be added by a name without its hash, in multiples of what was executed of it.
MOST_ADDED = 5
TOOL_CALLS = 50
WORDS = 2000
LONGEST_WAIT = 300


def build(work):
    """Builds the program and the mock server; returns them and the map of the program's functions.

    The program is built without a list, because valgrind knows the functions of one section of code alone.
    """
    functions = work / 'functions.map'
    env = dict(os.environ, CARGO_INCREMENTAL='0')
    subprocess.run(['cargo', 'build', '--locked', '-p', 'agentx-mock'], cwd=ROOT, env=env, check=True)
    subprocess.run(['cargo', 'rustc', '--release', '--locked', '-p', 'agentx-cli', '--bin', 'agentx', '--',
                    '-C', f'link-arg=-Wl,-Map={functions}'], cwd=ROOT, env=env, check=True)
    target = pathlib.Path(os.environ.get('CARGO_TARGET_DIR', ROOT / 'target'))
    program = work / 'agentx'
    shutil.copy(target / 'release/agentx', program)
    return program, target / 'debug/agentx-mock', functions


def await_or_end(reached, otherwise):
    """Waits until something is so, and ends the program with these words after a while."""
    until = time.monotonic() + LONGEST_WAIT
    while not reached():
        if time.monotonic() > until:
            raise SystemExit(otherwise)
        time.sleep(0.2)


class Recording:
    """Runs of the program under callgrind, each in a home of its own."""

    def __init__(self, program, mock, work):
        self.program, self.mock, self.work, self.count = program, mock, work, 0

    def command(self, *arguments):
        """The command line that records a run, and its environment."""
        self.count += 1
        home = self.work / f'home-{self.count}'
        (home / 'folder').mkdir(parents=True)
        env = {'PATH': os.environ['PATH'], 'HOME': str(home), 'LANG': 'C.UTF-8', 'TERM': 'xterm-256color'}
        line = ['valgrind', '--tool=callgrind', '--dump-instr=yes', '--dump-line=no', '-q',
                f'--callgrind-out-file={self.work}/calls.{self.count}', str(self.program), *arguments]
        return line, env, home / 'folder'

    def run_with_tools(self):
        answers = self.work / 'answers.jsonl'
        calls = [{'calls': [{'name': 'bash', 'input': {'command': 'echo hi'}}]}] * TOOL_CALLS
        words = [{'text': ' '.join(f'word{n}' for n in range(WORDS))}]
        answers.write_text(''.join(json.dumps(answer) + '\n' for answer in calls + words))
        server = subprocess.Popen([self.mock, answers], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            address = re.search(r'http://\S+', server.stdout.readline()).group()
            line, env, folder = self.command('run', '--yes', 'go')
            env |= {'ANTHROPIC_BASE_URL': address, 'ANTHROPIC_API_KEY': 'any'}
            subprocess.run(line, env=env, cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=LONGEST_WAIT)
        finally:
            server.kill()

    def chat(self):
        line, env, folder = self.command('--model', 'demo')
        words = ' '.join([*(f'{name}={value}' for name, value in env.items()), *line])
        socket = str(self.work / 'tmux')
        tmux = ['tmux', '-f', '/dev/null', '-S', socket]
        subprocess.run([*tmux, 'new-session', '-d', '-x', '100', '-y', '30', '-c', str(folder), f'env -i {words}'], check=True)
        try:
            for shown, keys in (('q to leave]', '1'), ('Enter sends', 'hello'), ('Try list the files', '/help'),
                                ('Esc or Ctrl-C stops', 'list the files'), ('glob answered', '/exit')):
                await_or_end(lambda shown=shown: shown in (self.screen(tmux) or ''), f'no {shown!r} on the screen')
                subprocess.run([*tmux, 'send-keys', keys, 'Enter'], check=True)
            await_or_end(lambda: self.screen(tmux) is None, 'the chat does not end')
        finally:
            subprocess.run([*tmux, 'kill-server'], stderr=subprocess.DEVNULL)

    def screen(self, tmux):
        """The screen of the terminal, or None where no terminal is left."""
        shown = subprocess.run([*tmux, 'capture-pane', '-p'], capture_output=True, text=True)
        return shown.stdout if shown.returncode == 0 else None

    def server(self):
        line, env, folder = self.command('serve', '--json', '--listen', '127.0.0.1:0')
        running = subprocess.Popen(line, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        running.stdout.readline()
        running.terminate()
        running.communicate(timeout=LONGEST_WAIT)

    def executed(self, number):
        """The addresses of all instructions of the program that the recording has, as callgrind writes them."""
        names, current, address, addresses = {}, None, 0, set()
        for text in (self.work / f'calls.{number}').open():
            if m := re.match(r'(c?)ob=\((\d+)\)(?: (.*))?$', text):
                if m[3]:
                    names[m[2]] = m[3]
                current = current if m[1] else names[m[2]]
            elif m := re.match(r'(0x[0-9a-f]+|[+-]\d+|\*) ', text):
                if m[1] != '*':
                    address = int(m[1], 16) if m[1].startswith('0x') else address + int(m[1])
                if current == str(self.program):
                    addresses.add(address)
        return addresses


def sections(functions):
    """Each function's section: address, size, name."""
    found = []
    for text in functions.open(errors='replace'):
        m = re.match(r'\s*([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+\s.*:\((\.text[^)]*)\)$', text)
        if m and int(m[2], 16):
            found.append((int(m[1], 16), int(m[2], 16), m[3]))
    return sorted(found)


def without_hash(name):
    return re.sub(r'17h[0-9a-f]{16}E(\.llvm\.\d+)?$', '17h*', name)


def patterns(all_sections, addresses):
    """The names of the sections that have one of the addresses, and those without a hash that match few others."""
    starts = [section[0] for section in all_sections]
    executed = set()
    for address in addresses:
        place = bisect.bisect_right(starts, address) - 1
        if place >= 0 and address < starts[place] + all_sections[place][1]:
            executed.add(place)
    size, size_executed = collections.Counter(), collections.Counter()
    for place, (_, length, name) in enumerate(all_sections):
        size[without_hash(name)] += length
        if place in executed:
            size_executed[without_hash(name)] += length
    exact = [all_sections[place][2] for place in sorted(executed)]
    short = [without_hash(name) for name in exact]
    return exact, [name for name in short if name.endswith('*') and size[name] <= MOST_ADDED * size_executed[name]]


def linker_script(all_sections, recordings):
    """The list, in a group for each recording: a run is to map nothing that only a chat or a server needs."""
    found = [patterns(all_sections, addresses) for addresses in recordings]
    known, groups = set(), []
    for names in [exact for exact, _ in found] + [short for _, short in found]:
        names = [name for name in dict.fromkeys(names) if name not in known]
        known.update(names)
        groups.append('    *(\n' + ''.join(f'      {name}\n' for name in names) + '    )\n')
    if len(known) < 1000:
        raise SystemExit(f'only {len(known)} functions were executed: the recording failed')
    return ('/* Functions that a run, a chat and a server execute: record.py writes this list and says why. */\n'
            'SECTIONS\n{\n  .text.executed : {\n' + ''.join(groups) + '  }\n}\nINSERT BEFORE .text;\n')


def record():
    """The list of what a run, a chat and a server execute."""
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        program, mock, functions = build(work)
        recording = Recording(program, mock, work)
        recording.run_with_tools()
        recording.chat()
        recording.server()
        return linker_script(sections(functions), [recording.executed(n + 1) for n in range(recording.count)])


def main():
    if not all(map(shutil.which, ('valgrind', 'tmux', 'cargo'))):
        raise SystemExit('valgrind, tmux and cargo are needed')
    script = LIST.read_text()
    LIST.write_text('/* No functions yet. */\n')
    try:
        script = record()
    finally:
        LIST.write_text(script)
    print(f'{LIST} is written', file=sys.stderr)


if __name__ == '__main__':
    main()
