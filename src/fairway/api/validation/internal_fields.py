"""The fields of structs as Kubernetes declares them inside, in order: names only.

Kubernetes' messages show objects in their inner form, where fields have their Go names and stand in the
order of declaration. Structs that are not listed here are shown in the order of the alphabet.
"""

from __future__ import annotations

from typing import Final

FIELDS: Final = """
Affinity: NodeAffinity PodAffinity PodAntiAffinity
AppArmorProfile: Type LocalhostProfile
Capabilities: Add Drop
ClusterTrustBundleProjection: Name SignerName LabelSelector Optional Path
ConfigMapEnvSource: Name Optional
ConfigMapKeySelector: Name Key Optional
ConfigMapProjection: Name Items Optional
ConfigMapVolumeSource: Name Items DefaultMode Optional
Container: Name Image Command Args WorkingDir Ports EnvFrom Env Resources ResizePolicy RestartPolicy
 RestartPolicyRules VolumeMounts VolumeDevices LivenessProbe ReadinessProbe StartupProbe Lifecycle
 TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext Stdin StdinOnce TTY
ContainerPort: Name HostPort ContainerPort Protocol HostIP
ContainerResizePolicy: ResourceName RestartPolicy
ContainerRestartRule: Action ExitCodes
ContainerRestartRuleOnExitCodes: Operator Values
CSIVolumeSource: Driver ReadOnly FSType VolumeAttributes NodePublishSecretRef
DaemonSetUpdateStrategy: Type RollingUpdate
DeploymentStrategy: Type RollingUpdate
DownwardAPIProjection: Items
DownwardAPIVolumeFile: Path FieldRef ResourceFieldRef Mode
DownwardAPIVolumeSource: Items DefaultMode
EmptyDirVolumeSource: Medium SizeLimit
EnvFromSource: Prefix ConfigMapRef SecretRef
EnvVar: Name Value ValueFrom
EnvVarSource: FieldRef ResourceFieldRef ConfigMapKeyRef SecretKeyRef FileKeyRef
EphemeralContainer: Name Image Command Args WorkingDir Ports EnvFrom Env Resources ResizePolicy RestartPolicy
 RestartPolicyRules VolumeMounts VolumeDevices LivenessProbe ReadinessProbe StartupProbe Lifecycle
 TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext Stdin StdinOnce TTY
 TargetContainerName
ExecAction: Command
FileKeySelector: VolumeName Path Key Optional
GRPCAction: Port Service
HostAlias: IP Hostnames
HostPathVolumeSource: Path Type
HTTPGetAction: Path Port Host Scheme HTTPHeaders
HTTPHeader: Name Value
ImageVolumeSource: Reference PullPolicy
KeyToPath: Key Path Mode
Lifecycle: PostStart PreStop StopSignal
LifecycleHandler: Exec HTTPGet TCPSocket Sleep
NFSVolumeSource: Server Path ReadOnly
NodeAddress: Type Address
NodeAffinity: RequiredDuringSchedulingIgnoredDuringExecution PreferredDuringSchedulingIgnoredDuringExecution
NodeSelectorRequirement: Key Operator Values
NodeSelectorTerm: MatchExpressions MatchFields
ObjectFieldSelector: APIVersion FieldPath
ObjectReference: Kind Namespace Name UID APIVersion ResourceVersion FieldPath
PersistentVolumeClaimSpec: AccessModes Selector Resources VolumeName StorageClassName VolumeMode DataSource
 DataSourceRef VolumeAttributesClassName
PersistentVolumeClaimStatus: Phase AccessModes Capacity Conditions AllocatedResources
 AllocatedResourceStatuses CurrentVolumeAttributesClassName ModifyVolumeStatus
PersistentVolumeClaimVolumeSource: ClaimName ReadOnly
PodAffinity: RequiredDuringSchedulingIgnoredDuringExecution PreferredDuringSchedulingIgnoredDuringExecution
PodAffinityTerm: LabelSelector Namespaces TopologyKey NamespaceSelector MatchLabelKeys MismatchLabelKeys
PodAntiAffinity: RequiredDuringSchedulingIgnoredDuringExecution
 PreferredDuringSchedulingIgnoredDuringExecution
PodCertificateProjection: SignerName KeyType MaxExpirationSeconds CredentialBundlePath KeyPath
 CertificateChainPath UserAnnotations
PodDNSConfig: Nameservers Searches Options
PodDNSConfigOption: Name Value
PodDisruptionBudgetSpec: MinAvailable Selector MaxUnavailable UnhealthyPodEvictionPolicy
PodResourceClaim: Name ResourceClaimName ResourceClaimTemplateName
PodSecurityContext: HostNetwork HostPID HostIPC ShareProcessNamespace HostUsers SELinuxOptions WindowsOptions
 RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy FSGroup Sysctls
 FSGroupChangePolicy SeccompProfile AppArmorProfile SELinuxChangePolicy
PodSpec: Volumes InitContainers Containers EphemeralContainers RestartPolicy TerminationGracePeriodSeconds
 ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName AutomountServiceAccountToken NodeName
 SecurityContext ImagePullSecrets Hostname Subdomain Affinity SchedulerName Tolerations HostAliases
 PriorityClassName Priority DNSConfig ReadinessGates RuntimeClassName EnableServiceLinks PreemptionPolicy
 Overhead TopologySpreadConstraints SetHostnameAsFQDN OS SchedulingGates ResourceClaims Resources
 HostnameOverride SchedulingGroup
PreferredSchedulingTerm: Weight Preference
Probe: Exec HTTPGet TCPSocket GRPC InitialDelaySeconds TimeoutSeconds PeriodSeconds SuccessThreshold
 FailureThreshold TerminationGracePeriodSeconds
ProjectedVolumeSource: Sources DefaultMode
ResourceClaim: Name Request
ResourceFieldSelector: ContainerName Resource Divisor
ResourceRequirements: Limits Requests Claims
RoleRef: APIGroup Kind Name
RollingUpdateDaemonSet: MaxUnavailable MaxSurge
RollingUpdateDeployment: MaxUnavailable MaxSurge
RollingUpdateStatefulSetStrategy: Partition MaxUnavailable
SeccompProfile: Type LocalhostProfile
SecretEnvSource: Name Optional
SecretKeySelector: Name Key Optional
SecretProjection: Name Items Optional
SecretVolumeSource: SecretName Items DefaultMode Optional
SecurityContext: Capabilities Privileged SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot
 ReadOnlyRootFilesystem AllowPrivilegeEscalation ProcMount SeccompProfile AppArmorProfile
SELinuxOptions: User Role Type Level
ServiceAccountTokenProjection: Audience ExpirationSeconds Path
StatefulSetUpdateStrategy: Type RollingUpdate
Sysctl: Name Value
Taint: Key Value Effect TimeAdded
TCPSocketAction: Port Host
Toleration: Key Operator Value Effect TolerationSeconds
TopologySpreadConstraint: MaxSkew TopologyKey WhenUnsatisfiable LabelSelector MinDomains NodeAffinityPolicy
 NodeTaintsPolicy MatchLabelKeys
TypedLocalObjectReference: APIGroup Kind Name
TypedObjectReference: APIGroup Kind Name Namespace
Volume: Name HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo Secret NFS ISCSI Glusterfs
 PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI FC AzureFile ConfigMap
 VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume ScaleIO StorageOS CSI Ephemeral Image
VolumeDevice: Name DevicePath
VolumeMount: Name ReadOnly RecursiveReadOnly MountPath SubPath MountPropagation SubPathExpr
VolumeProjection: Secret DownwardAPI ConfigMap ServiceAccountToken ClusterTrustBundle PodCertificate
VolumeResourceRequirements: Limits Requests
WeightedPodAffinityTerm: Weight PodAffinityTerm
WindowsSecurityContextOptions: GMSACredentialSpecName GMSACredentialSpec RunAsUserName HostProcess
"""
