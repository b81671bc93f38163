#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The shipped DaemonSet, without a cluster.

flags FILE FOLDER [without=CAP,CAP...] [container=NAME]
        its pod template as options of `podman run`, one a line, then its arguments after a line "--"; what
        a node provides (host folders, configuration, temporary folders) is made below FOLDER. NAME: another
        container than the first, also one that comes before it
daemonset FILE
        that document alone
check FILE DECODED
        a line "ok - ..." or "FAIL - ..." for each rule of the API server that a decoder does not know;
        DECODED is the DaemonSet as Kubernetes' own types read and wrote it: what is not in it was a typing
        error
"""
import os
import re
import sys

import yaml

# The fields of the small kinds, which kubectl decodes only with a server.
FIELDS = {'Namespace': set(), 'ConfigMap': {'data'},
          'PriorityClass': {'value', 'preemptionPolicy', 'globalDefault', 'description'}}
# Younger than the kubectl of Debian 12 (1.20): Kubernetes 1.30.
YOUNG = {'/spec/template/spec/containers/0/securityContext/appArmorProfile'}
# Where the kubelet has profiles.
PROFILES = '/var/lib/kubelet/seccomp'
# What would own the host.
PRIVILEGES = {'NET_ADMIN', 'SYS_ADMIN', 'SYS_MODULE', 'SYS_RAWIO', 'DAC_OVERRIDE', 'MKNOD', 'SETUID'}


def load(path):
    with open(path) as file:
        return [d for d in yaml.safe_load_all(file) if d]


def one(documents, kind):
    found = [d for d in documents if d['kind'] == kind]
    assert len(found) == 1, f'{len(found)} of kind {kind}'
    return found[0]


# --- podman's options ------------------------------------------------------------------------------

def provide(volume, documents, folder):
    """The path of a volume's content below folder."""
    if 'hostPath' in volume:
        path = folder + volume['hostPath']['path']
        # As the kubelet makes it (DirectoryOrCreate).
        os.makedirs(path, mode=0o755, exist_ok=True)
    elif 'configMap' in volume:
        path = f'{folder}/{volume["name"]}'
        os.makedirs(path, exist_ok=True)
        for name, text in one(documents, 'ConfigMap')['data'].items():
            with open(f'{path}/{name}', 'w') as file:
                file.write(text)
    else:
        assert volume['emptyDir'] == {}, volume
        path = f'{folder}/{volume["name"]}'
        os.makedirs(path, mode=0o777, exist_ok=True)
    return path


def flags(path, folder, choices):
    documents = load(path)
    pod = one(documents, 'DaemonSet')['spec']['template']['spec']
    container = [c for c in pod['containers'] + pod.get('initContainers', [])
                 if c['name'] == choices.get('container', pod['containers'][0]['name'])][0]
    security = container['securityContext']
    resources = container['resources']
    without = choices.get('without', '').split(',')
    out = ['--cap-drop=' + c for c in security['capabilities']['drop']]
    out += ['--cap-add=' + c for c in security['capabilities'].get('add', []) if c not in without]
    out += [f'--user={security["runAsUser"]}:{security["runAsGroup"]}']
    if pod.get('hostPID'):
        out += ['--pid=host']
    if pod.get('hostNetwork'):
        out += ['--network=host']
    if security.get('readOnlyRootFilesystem'):
        # Podman would put folders of its own there.
        out += ['--read-only', '--read-only-tmpfs=false']
    if security.get('allowPrivilegeEscalation') is False:
        out += ['--security-opt=no-new-privileges']
    profile = security['seccompProfile']
    if profile['type'] == 'Localhost':
        out += [f'--security-opt=seccomp={folder}{PROFILES}/{profile["localhostProfile"]}']
    elif profile['type'] == 'Unconfined':
        out += ['--security-opt=seccomp=unconfined']
    # As the kubelet reckons shares.
    out += [f'--cpu-shares={int(resources["requests"]["cpu"].rstrip("m")) * 1024 // 1000}']
    out += ['--memory=' + resources['limits']['memory'].lower().rstrip('i')]
    if 'cpu' in resources['limits']:
        out += [f'--cpus={int(resources["limits"]["cpu"].rstrip("m")) / 1000}']
    for variable in container.get('env', []):
        value = variable.get('value', 'node-of-the-test')
        out += [f'--env={variable["name"]}={value}']
    volumes = {v['name']: provide(v, documents, folder) for v in pod['volumes']}
    for mount in container['volumeMounts']:
        source = os.path.join(volumes[mount['name']], mount.get('subPath', ''))
        readonly = ':ro' if mount.get('readOnly') else ''
        out += [f'--volume={source.rstrip("/")}:{mount["mountPath"]}{readonly}']
    values = {v['name']: v.get('value', 'node-of-the-test') for v in container.get('env', [])}
    arguments = [re.sub(r'\$\((\w+)\)', lambda m: values[m[1]], a) for a in container['args']]
    print('\n'.join(out + ['--'] + arguments))


# --- rules -----------------------------------------------------------------------------------------

def dropped(given, read, where=''):
    """Paths of what was given and not understood; what is empty or false is left out by the writer."""
    if isinstance(given, dict):
        for key, value in given.items():
            if isinstance(read, dict) and key in read:
                yield from dropped(value, read[key], f'{where}/{key}')
            elif value not in (False, 0, '', None, [], {}):
                yield f'{where}/{key}'
    elif isinstance(given, list):
        for i, value in enumerate(given):
            yield from dropped(value, read[i] if isinstance(read, list) and i < len(read) else None,
                               f'{where}/{i}')


def rules_of_profile(pod, container, volumes):
    """It is on the node before who needs it starts, put there by a container that may do nothing else."""
    profile = container['securityContext']['seccompProfile']
    first = pod['initContainers'][0]
    security = first['securityContext']
    paths = {m['mountPath']: volumes[m['name']]['hostPath']['path'] for m in first['volumeMounts']}
    into, name = os.path.split(first['args'][1].removeprefix('--output='))
    yield 'no container, and no pod, is without a filter', \
        profile['type'] == 'Localhost' and security['seccompProfile']['type'] == 'RuntimeDefault' and \
        'securityContext' not in pod
    yield 'the profile is put where the kubelet looks for it', \
        paths.get(into) == PROFILES and name == profile['localhostProfile']
    yield 'whoever puts it there has the same image and no capability', \
        first['image'] == container['image'] and security['capabilities'] == {'drop': ['ALL']} and \
        security['allowPrivilegeEscalation'] is False and security['readOnlyRootFilesystem'] is True and \
        list(paths.values()) == [PROFILES]


def rules(documents):
    """(name, whether it holds)"""
    names = [d['metadata']['name'] for d in documents]
    ds = one(documents, 'DaemonSet')
    template = ds['spec']['template']
    pod = template['spec']
    container = pod['containers'][0]
    security = container['securityContext']
    added = set(security['capabilities']['add'])
    volumes = {v['name']: v for v in pod['volumes']}
    config = one(documents, 'ConfigMap')
    yield 'names are DNS labels', all(re.fullmatch('[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?', n) for n in names)
    yield 'the selector selects the template', \
        ds['spec']['selector']['matchLabels'].items() <= template['metadata']['labels'].items()
    yield 'all that has a namespace is in the one that is made', \
        {d['metadata'].get('namespace') for d in documents if d['kind'] in ('DaemonSet', 'ConfigMap')} == \
        {one(documents, 'Namespace')['metadata']['name']}
    yield 'the priority class is the one that is made, and evicts nobody', \
        pod['priorityClassName'] == one(documents, 'PriorityClass')['metadata']['name'] and \
        one(documents, 'PriorityClass')['preemptionPolicy'] == 'Never'
    mounts = container['volumeMounts'] + [m for c in pod['initContainers'] for m in c['volumeMounts']]
    yield 'each mount has a volume, each volume a mount', {m['name'] for m in mounts} == volumes.keys()
    yield 'no path is mounted twice', \
        len({m['mountPath'] for m in container['volumeMounts']}) == len(container['volumeMounts'])
    yield 'the configuration is the one that is made', \
        volumes['configuration']['configMap']['name'] == config['metadata']['name'] and \
        all(m['subPath'] in config['data'] for m in container['volumeMounts'] if 'subPath' in m)
    yield 'its readiness is asked at a port that has a name', \
        container['readinessProbe']['httpGet']['port'] in {p['name'] for p in container['ports']}
    yield 'whether it lives is asked by its own program', \
        container['livenessProbe']['exec']['command'] == ['hotrun', 'watch', '--status']
    yield 'the port is the one that is listened at', \
        f'--listen=0.0.0.0:{container["ports"][0]["containerPort"]}' in container['args']
    yield 'names of ports have 15 letters at the most', all(len(p['name']) <= 15 for p in container['ports'])
    yield 'toleration of everything has neither key nor value', \
        all(t['operator'] == 'Exists' and not t.keys() & {'key', 'value'} for t in pod['tolerations'])
    yield 'requests are not above limits', \
        int(container['resources']['requests']['memory'].rstrip('Mi')) <= \
        int(container['resources']['limits']['memory'].rstrip('Mi'))
    yield 'not privileged, no more rights later, root is read-only', \
        security['privileged'] is False and security['allowPrivilegeEscalation'] is False and \
        security['readOnlyRootFilesystem'] is True
    yield 'all capabilities are dropped, none that owns the host is added', \
        security['capabilities']['drop'] == ['ALL'] and not added & PRIVILEGES
    yield 'the only folder of the host is that of captures', \
        [volumes[m['name']]['hostPath']['path'] for m in container['volumeMounts']
         if 'hostPath' in volumes[m['name']]] == ['/var/lib/hotrun']
    yield from rules_of_profile(pod, container, volumes)
    yield 'no account, no network of the host', \
        pod['automountServiceAccountToken'] is False and not pod.get('hostNetwork')


def check(path, decoded):
    documents = load(path)
    lost = [path for path in dropped(one(documents, 'DaemonSet'), load(decoded)[0]) if path not in YOUNG]
    lost += [key for d in documents if d['kind'] in FIELDS
             for key in d.keys() - FIELDS[d['kind']] - {'apiVersion', 'kind', 'metadata'}]
    print(f'FAIL - fields that Kubernetes does not know: {lost}' if lost else
          'ok - Kubernetes knows every field')
    for name, holds in rules(documents):
        print('ok -' if holds else 'FAIL -', name)


if __name__ == '__main__':
    if sys.argv[1] == 'flags':
        flags(sys.argv[2], sys.argv[3], dict(a.split('=', 1) for a in sys.argv[4:]))
    elif sys.argv[1] == 'daemonset':
        yaml.safe_dump(one(load(sys.argv[2]), 'DaemonSet'), sys.stdout)
    else:
        check(*sys.argv[2:])
