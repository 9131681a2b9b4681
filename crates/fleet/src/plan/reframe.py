# A check-up of every node, as a test of ReFrame of its own:
#   reframe -c THIS_FILE -r --distribute=all     nodes of the partition in any state; --distribute=idle for those that are free
# Printed by sidestep fleet plan, which runs nothing.
import shlex

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class SidestepCheckUp(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'sidestep'
    drop = variable(str, value=@DROP@)
    executable_opts = ['run', @RUN@, '--drop']
    num_tasks = 1
    num_tasks_per_node = 1
    exclusive_access = True
    time_limit = '30m'
    # The options of the scheduler name a node; the record does the same. Without a scheduler the host gives its name.
    env_vars = {'NODE_NAME': '${SLURMD_NODENAME:-$(uname -n)}'}

    @run_before('run')
    def name_the_drop_directory(self):
        # Quoted as the shell of the job takes it.
        self.executable_opts = self.executable_opts + [shlex.quote(self.drop)]

    @sanity_function
    def record_is_kept(self):
        return sn.assert_found(r'^record \S+  /', self.stdout)

    @performance_function('numbers')
    def numbers(self):
        return sn.extractsingle(r'(\d+) numbers', self.stdout, 1, int)
