# SPDX-License-Identifier: MIT
#
# A Slurm cluster of one node, in one folder with ports of its own; sourced after lib.sh. Nothing of it is left when
# cluster_stop has run, which the caller's trap must do. Needs root: slurmd starts processes of other users.

# Where a program of Slurm is missing, says which; else nothing.
cluster_missing() {
	local program
	[ "$(id -u)" = 0 ] || { echo "only root can start a cluster"; return; }
	for program in munged slurmctld slurmd sbatch squeue scontrol scancel; do
		command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
			{ echo "no $program here (packages munge slurmctld slurmd slurm-client)"; return; }
	done
}

# A port that nobody listens on.
free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# cluster_start FOLDER: sets SLURM_CONF.
cluster_start() {
	cluster=$1
	node=$(hostname -s)
	export PATH=$PATH:/usr/sbin SLURM_CONF=$cluster/slurm.conf
	mkdir -p "$cluster/state" "$cluster/spool"
	chmod 755 "$cluster"
	(umask 077 && head -c 1024 /dev/urandom >"$cluster/key")
	chmod 400 "$cluster/key"
	cat >"$SLURM_CONF" <<-END
		ClusterName=test
		SlurmctldHost=$node(127.0.0.1)
		SlurmctldPort=$(free_port)
		SlurmdPort=$(free_port)
		AuthType=auth/munge
		AuthInfo=socket=$cluster/munge
		SlurmUser=root
		StateSaveLocation=$cluster/state
		SlurmdSpoolDir=$cluster/spool
		SlurmctldPidFile=$cluster/slurmctld.pid
		SlurmdPidFile=$cluster/slurmd.pid
		SlurmctldLogFile=$cluster/slurmctld.log
		SlurmdLogFile=$cluster/slurmd.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		MpiDefault=none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		ReturnToService=2
		KillWait=2
		SchedulerParameters=batch_sched_delay=0,sched_min_interval=10000,sched_interval=1
		NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
		PartitionName=main Nodes=$node Default=YES MaxTime=INFINITE State=UP
	END
	echo "CgroupPlugin=cgroup/v1" >"$cluster/cgroup.conf"
	munged --socket="$cluster/munge" --key-file="$cluster/key" --log-file="$cluster/munged.log" \
		--pid-file="$cluster/munged.pid" --seed-file="$cluster/munged.seed" --num-threads=2 --force 2>/dev/null
	slurmctld
	slurmd
	cluster_ready
}

# Waits until the node takes jobs.
cluster_ready() {
	local i
	for ((i = 0; i < 100; i++)); do
		[ "$(timeout 5 sinfo -h -o %t 2>/dev/null)" != idle ] || return 0
		sleep 0.2
	done
	echo "the cluster does not come up:"
	tail -n 5 "$cluster"/slurmctld.log "$cluster"/slurmd.log
	return 1
}

# cluster_kill DAEMON [SIGNAL]: ends a daemon of the cluster by its pid file and waits for its end.
cluster_kill() {
	local pid i
	pid=$(cat "$cluster/$1.pid" 2>/dev/null) || return 0
	kill "-${2:-TERM}" "$pid" 2>/dev/null || return 0
	for ((i = 0; i < 100; i++)); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
}

cluster_stop() {
	[ -n "${cluster:-}" ] || return 0
	timeout 10 scancel --full --user=root >/dev/null 2>&1 || true
	timeout 10 scancel --full --partition=main >/dev/null 2>&1 || true
	local i
	for ((i = 0; i < 40; i++)); do
		[ -n "$(timeout 5 squeue -h 2>/dev/null)" ] || break
		sleep 0.2
	done
	cluster_kill slurmd
	cluster_kill slurmctld
	cluster_kill munged
	# What Slurm started for jobs and is still there belongs to the folder by its configuration.
	for i in /proc/[0-9]*; do
		if tr '\0' '\n' 2>/dev/null <"$i/environ" | grep -qxF "SLURM_CONF=$SLURM_CONF" &&
			grep -q '^slurmstepd' "$i/comm" 2>/dev/null; then
			kill -KILL "${i#/proc/}" 2>/dev/null || true
		fi
	done
}
